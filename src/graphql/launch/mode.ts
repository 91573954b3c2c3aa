import type { LaunchInput } from '../../domain/launch/launch.ts'
import { splitWords } from '../../domain/launch/shell-words.ts'
import { builder } from '../builder.ts'

const directDescription = 'On public ports of its own instead of through the proxy. Without a proxy it is always so.'

const SshLaunchInput = builder.inputType('SshLaunchInput', {
  description: 'SSH.',
  fields: t => ({ direct: t.boolean({ required: true, defaultValue: false, description: directDescription }) }),
})

const JupyterLaunchInput = builder.inputType('JupyterLaunchInput', {
  description: 'A notebook server, and SSH.',
  fields: t => ({
    direct: t.boolean({ required: true, defaultValue: false, description: directDescription }),
    lab: t.boolean({ required: true, defaultValue: false, description: 'JupyterLab instead of the classic notebook.' }),
    directory: t.string({ description: 'Where the notebook server starts.' }),
  }),
})

const ArgsLaunchInput = builder.inputType('ArgsLaunchInput', {
  description: "The image's own entrypoint. Neither SSH nor notebook.",
  fields: t => ({
    argsString: t.string({
      description: 'Replaces the arguments that the image has. Split as a shell does, and nothing is expanded.',
    }),
  }),
})

export const LaunchModeInput = builder.inputType('LaunchModeInput', {
  description: 'How an instance is entered, and what starts in it.',
  isOneOf: true,
  fields: t => ({
    ssh: t.field({ type: SshLaunchInput, description: 'SSH.' }),
    jupyter: t.field({ type: JupyterLaunchInput, description: 'A notebook server, and SSH.' }),
    args: t.field({ type: ArgsLaunchInput, description: "The image's own entrypoint." }),
  }),
})
type Mode = typeof LaunchModeInput.$inferInput

export function parseModeInput(
  mode: Mode | null | undefined,
): Pick<LaunchInput, 'mode' | 'lab' | 'directory' | 'args' | 'parseIssues'> {
  if (mode?.jupyter) {
    const { direct, lab, directory } = mode.jupyter
    return { mode: direct ? 'jupyterDirect' : 'jupyterProxy', lab, directory: directory ?? undefined }
  }
  if (mode?.args) return { mode: 'args', ...parseArgs(mode.args.argsString ?? '') }
  return mode ? { mode: mode.ssh?.direct ? 'sshDirect' : 'sshProxy' } : {}
}

function parseArgs(text: string): Pick<LaunchInput, 'args' | 'parseIssues'> {
  const words = splitWords(text)
  if (typeof words === 'string') return { parseIssues: [{ path: 'args', message: words }] }
  return { args: words.map(word => word.text) }
}
