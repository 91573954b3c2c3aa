import type { LaunchInput } from '../../domain/launch/launch.ts'
import { splitWords } from '../../domain/launch/shell-words.ts'
import { builder } from '../builder.ts'

const directDescription =
  'Use public ports of the machine instead of the SSH proxy. Defaults to false. Public ports are always used where the operator runs no proxy.'

const SshLaunchInput = builder.inputType('SshLaunchInput', {
  description: 'Launch mode with an SSH server.',
  fields: t => ({ direct: t.boolean({ required: true, defaultValue: false, description: directDescription }) }),
})

const JupyterLaunchInput = builder.inputType('JupyterLaunchInput', {
  description: 'Launch mode with a notebook server and SSH.',
  fields: t => ({
    direct: t.boolean({ required: true, defaultValue: false, description: directDescription }),
    lab: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Start JupyterLab instead of the classic notebook. Defaults to false.',
    }),
    directory: t.string({ description: 'Directory in which the notebook server starts.' }),
  }),
})

const ArgsLaunchInput = builder.inputType('ArgsLaunchInput', {
  description: "Launch mode that runs the image's own entrypoint, without SSH or a notebook.",
  fields: t => ({
    argsString: t.string({
      description:
        'Arguments that replace those of the image. Split into words as a shell does, without expanding variables or patterns.',
    }),
  }),
})

export const LaunchModeInput = builder.inputType('LaunchModeInput', {
  description: 'Program that starts in an instance, and the way to reach the instance.',
  isOneOf: true,
  fields: t => ({
    ssh: t.field({ type: SshLaunchInput, description: 'Start an SSH server.' }),
    jupyter: t.field({ type: JupyterLaunchInput, description: 'Start a notebook server and an SSH server.' }),
    args: t.field({ type: ArgsLaunchInput, description: "Run the image's own entrypoint." }),
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
