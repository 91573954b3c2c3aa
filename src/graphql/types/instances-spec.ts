import type { LaunchWish } from '../../domain/launch.ts'
import { type EnvVar, emptyEnvironment, type Port } from '../../domain/launch-env.ts'
import { maxVolumesPerInstance } from '../../domain/volumes-mount.ts'
import { splitWords } from '../../domain/words.ts'
import { builder } from '../builder.ts'
import { InstanceKind, TargetState } from './instances-status.ts'
import { readMounts, VolumeMountInput } from './volumes-mount.ts'

const LaunchSourceInput = builder.inputType('LaunchSourceInput', {
  description: 'Where the settings come from.',
  isOneOf: true,
  fields: t => ({ image: t.string({ description: 'A container image, such as `pytorch/pytorch:latest`.' }) }),
})

const direct = 'On public ports of its own instead of through the proxy.'

const SshLaunchInput = builder.inputType('SshLaunchInput', {
  description: 'SSH.',
  fields: t => ({ direct: t.boolean({ required: true, defaultValue: false, description: direct }) }),
})

const JupyterLaunchInput = builder.inputType('JupyterLaunchInput', {
  description: 'A notebook server, and SSH.',
  fields: t => ({
    direct: t.boolean({ required: true, defaultValue: false, description: direct }),
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

const LaunchModeInput = builder.inputType('LaunchModeInput', {
  description: 'How an instance is entered, and what starts in it.',
  isOneOf: true,
  fields: t => ({
    ssh: t.field({ type: SshLaunchInput, description: 'SSH.' }),
    jupyter: t.field({ type: JupyterLaunchInput, description: 'A notebook server, and SSH.' }),
    args: t.field({ type: ArgsLaunchInput, description: "The image's own entrypoint." }),
  }),
})

const EnvVarInput = builder.inputType('EnvVarInput', {
  description: 'An environment variable.',
  fields: t => ({
    name: t.string({ required: true, description: 'Letters, digits and _, not starting with a digit.' }),
    value: t.string({ required: true, description: 'Its value.' }),
  }),
})

const PortProtocol = builder.enumType('PortProtocol', {
  description: 'What a port speaks.',
  values: { TCP: { value: 'tcp', description: 'TCP.' }, UDP: { value: 'udp', description: 'UDP.' } } as const,
})

const PortMappingInput = builder.inputType('PortMappingInput', {
  description: 'A public port that leads into the instance.',
  fields: t => ({
    containerPort: t.int({ required: true, description: 'The port inside.' }),
    hostPort: t.int({
      description: 'The public port that is wished. It is given when it is free, and another one otherwise.',
    }),
    protocol: t.field({ type: PortProtocol, required: true, defaultValue: 'tcp', description: 'What it speaks.' }),
  }),
})

const RegistryCredentialInput = builder.inputType('RegistryCredentialInput', {
  description: 'Credentials of a private registry. They are kept encrypted, and never shown.',
  fields: t => ({
    host: t.string({ required: true, description: 'The registry.' }),
    username: t.string({ required: true, description: 'Who pulls.' }),
    password: t.string({ required: true, description: 'The password, or a token.' }),
  }),
})

export const InstanceSpecInput = builder.inputType('InstanceSpecInput', {
  description: 'What an instance is to be. Only the source is required.',
  fields: t => ({
    source: t.field({ type: LaunchSourceInput, required: true, description: 'Where the settings come from.' }),
    mode: t.field({ type: LaunchModeInput, description: 'How it is entered. SSH through the proxy, when absent.' }),
    kind: t.field({ type: InstanceKind, required: true, defaultValue: 'CONTAINER', description: 'What runs.' }),
    label: t.string({ description: 'What you call it, at most 256 characters.' }),
    diskGb: t.float({ description: 'Its disk in GB, at least 8. 8 when absent.' }),
    targetState: t.field({
      type: TargetState,
      required: true,
      defaultValue: 'running',
      description: 'Whether it is to run at once.',
    }),
    env: t.field({ type: [EnvVarInput], required: true, defaultValue: [], description: 'Environment variables.' }),
    ports: t.field({ type: [PortMappingInput], required: true, defaultValue: [], description: 'Public ports.' }),
    registry: t.field({ type: RegistryCredentialInput, description: 'For an image in a private registry.' }),
    onStart: t.string({ description: 'Shell commands that run once it is up, at most 4048 characters.' }),
    hostname: t.string({ description: 'Its host name.' }),
    pythonUtf8: t.boolean({ required: true, defaultValue: false, description: 'Set `PYTHONUTF8` to 1.' }),
    langUtf8: t.boolean({ required: true, defaultValue: false, description: 'Set `LANG` and `LC_ALL` to C.UTF-8.' }),
    volumes: t.field({
      type: [VolumeMountInput],
      required: true,
      defaultValue: [],
      description: `Volumes on the machine of the offer, at most ${maxVolumesPerInstance}.`,
    }),
  }),
})
type Spec = typeof InstanceSpecInput.$inferInput

/** Where the input has what the domain calls otherwise. */
export const specNames: Record<string, string> = {
  image: 'spec.source.image',
  lab: 'spec.mode.jupyter.lab',
  directory: 'spec.mode.jupyter.directory',
  args: 'spec.mode.args.argsString',
  vm: 'spec.kind',
  ...Object.fromEntries(
    ['env', 'ports', 'hostname', 'onStart', 'registry', 'diskGb', 'label', 'volumes'].map(name => [
      name,
      `spec.${name}`,
    ]),
  ),
}

export function readSpec({ source, mode, kind, env, ports, registry, ...spec }: Spec): LaunchWish {
  const { volumes, newVolumes, unread } = readMounts(spec.volumes)
  const how = readMode(mode)
  return {
    image: source.image ?? undefined,
    ...how,
    newVolumes,
    unread: [...(how.unread ?? []), ...unread],
    environment: {
      ...emptyEnvironment(),
      env: env as EnvVar[],
      ports: ports.map(({ hostPort, containerPort, protocol }): Port => {
        return { hostPort: hostPort ?? containerPort, containerPort, protocol }
      }),
      hostname: spec.hostname ?? undefined,
      volumes,
    },
    registry: registry ?? undefined,
    vm: kind === 'VM',
    label: spec.label ?? undefined,
    diskGb: spec.diskGb ?? undefined,
    targetState: spec.targetState,
    onStart: spec.onStart ?? undefined,
    pythonUtf8: spec.pythonUtf8,
    langUtf8: spec.langUtf8,
  }
}

function readMode(mode: Spec['mode']): Pick<LaunchWish, 'mode' | 'lab' | 'directory' | 'args' | 'unread'> {
  if (mode?.jupyter) {
    const { direct, lab, directory } = mode.jupyter
    return { mode: direct ? 'jupyterDirect' : 'jupyterProxy', lab, directory: directory ?? undefined }
  }
  if (mode?.args) return { mode: 'args', ...readArgs(mode.args.argsString ?? '') }
  return { mode: mode?.ssh?.direct ? 'sshDirect' : 'sshProxy' }
}

function readArgs(text: string): Pick<LaunchWish, 'args' | 'unread'> {
  const words = splitWords(text)
  if (typeof words === 'string') return { unread: [{ path: 'args', message: words }] }
  return { args: words.map(word => word.text) }
}
