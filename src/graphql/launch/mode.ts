import type { Launch, LaunchInput, LaunchMode as Mode } from '../../domain/launch/launch.ts'
import { builder } from '../builder.ts'

const modeDescription =
  'Program that starts in an instance, and the way to reach the instance. Exactly one field is not null. New modes may be added.'
const directDescription =
  'Use public ports of the machine instead of the SSH proxy. Public ports are always used where the operator runs no proxy.'
const labDescription = 'Start JupyterLab instead of the classic notebook.'

type ModeSettings = Pick<Launch, 'lab' | 'directory' | 'args'> & { mode: Mode }

const SshLaunch = builder.objectRef<ModeSettings>('SshLaunch').implement({
  description: 'Launch mode with an SSH server.',
  fields: t => ({
    direct: t.boolean({ description: directDescription, resolve: ({ mode }) => mode === 'sshDirect' }),
  }),
})

const JupyterLaunch = builder.objectRef<ModeSettings>('JupyterLaunch').implement({
  description: 'Launch mode with a notebook server and an SSH server.',
  fields: t => ({
    direct: t.boolean({ description: directDescription, resolve: ({ mode }) => mode === 'jupyterDirect' }),
    lab: t.exposeBoolean('lab', { description: labDescription }),
    directory: t.exposeString('directory', {
      nullable: true,
      description: 'Directory in which the notebook server starts, such as `/work`. Null for the default directory.',
    }),
  }),
})

const ArgsLaunch = builder.objectRef<ModeSettings>('ArgsLaunch').implement({
  description: "Launch mode that runs the image's own entrypoint, without SSH or a notebook.",
  fields: t => ({
    args: t.exposeStringList('args', {
      description:
        "Arguments that replace those of the image, one word each. Empty if the image's own arguments are used.",
    }),
  }),
})

export const LaunchMode = builder.objectRef<ModeSettings>('LaunchMode').implement({
  description: modeDescription,
  fields: t => ({
    ssh: t.field({
      type: SshLaunch,
      nullable: true,
      description: 'An SSH server starts. Null in another mode.',
      resolve: launch => (launch.mode === 'sshDirect' || launch.mode === 'sshProxy' ? launch : null),
    }),
    jupyter: t.field({
      type: JupyterLaunch,
      nullable: true,
      description: 'A notebook server and an SSH server start. Null in another mode.',
      resolve: launch => (launch.mode === 'jupyterDirect' || launch.mode === 'jupyterProxy' ? launch : null),
    }),
    args: t.field({
      type: ArgsLaunch,
      nullable: true,
      description: "The image's own entrypoint runs. Null in another mode.",
      resolve: launch => (launch.mode === 'args' ? launch : null),
    }),
  }),
})

const SshLaunchInput = builder.inputType('SshLaunchInput', {
  description: 'Launch mode with an SSH server.',
  fields: t => ({
    direct: t.boolean({ required: true, defaultValue: false, description: `${directDescription} Defaults to false.` }),
  }),
})

const JupyterLaunchInput = builder.inputType('JupyterLaunchInput', {
  description: 'Launch mode with a notebook server and an SSH server.',
  fields: t => ({
    direct: t.boolean({ required: true, defaultValue: false, description: `${directDescription} Defaults to false.` }),
    lab: t.boolean({ required: true, defaultValue: false, description: `${labDescription} Defaults to false.` }),
    directory: t.string({
      description:
        'Directory in which the notebook server starts, such as `/work`. The default directory if absent or null.',
    }),
  }),
})

const ArgsLaunchInput = builder.inputType('ArgsLaunchInput', {
  description: "Launch mode that runs the image's own entrypoint, without SSH or a notebook.",
  fields: t => ({
    args: t.stringList({
      required: true,
      defaultValue: [],
      description:
        "Arguments that replace those of the image, one word each, at most 32,768 characters in all. Defaults to none: the image's own arguments are used.",
    }),
  }),
})

export const LaunchModeInput = builder.inputType('LaunchModeInput', {
  description: `${modeDescription} It has the shape of \`LaunchMode\` without the fields that are null there.`,
  isOneOf: true,
  fields: t => ({
    ssh: t.field({ type: SshLaunchInput, description: 'Start an SSH server.' }),
    jupyter: t.field({ type: JupyterLaunchInput, description: 'Start a notebook server and an SSH server.' }),
    args: t.field({ type: ArgsLaunchInput, description: "Run the image's own entrypoint." }),
  }),
})

/** A mode is given whole: of its settings, absent ones are off. */
export function parseModeInput({ ssh, jupyter, args }: typeof LaunchModeInput.$inferInput): Pick<
  LaunchInput,
  'lab' | 'directory' | 'args'
> & {
  mode: Mode
  modeIsWhole: true
} {
  if (jupyter) {
    const { direct, lab, directory } = jupyter
    const mode = direct ? 'jupyterDirect' : 'jupyterProxy'
    return { mode, modeIsWhole: true, lab, directory: directory ?? undefined }
  }
  if (args) return { mode: 'args', modeIsWhole: true, args: args.args }
  return { mode: ssh?.direct ? 'sshDirect' : 'sshProxy', modeIsWhole: true }
}
