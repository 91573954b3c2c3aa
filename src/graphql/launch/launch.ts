import type { Instance } from '../../domain/instances/instances.ts'
import { type EnvVar as EnvVarShape, type Port, printPort } from '../../domain/launch/env.ts'
import { type LaunchSource, type LaunchSources, launchWarningsOf } from '../../domain/launch/launch.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { LaunchMode } from './mode.ts'

export const PortProtocol = builder.enumType('PortProtocol', {
  description: 'Transport protocol of a port.',
  values: {
    TCP: { value: 'tcp', description: 'The Transmission Control Protocol.' },
    UDP: { value: 'udp', description: 'The User Datagram Protocol.' },
  } as const,
})

const ConfigSource = enumOf<LaunchSource>('ConfigSource', 'Where a setting comes from. New values may be added.', {
  account: 'Set by a secret variable of the account; neither the template nor the request overrides it.',
  template: 'Set by the template; the request does not override it.',
  request: 'Set by the request.',
  default: 'The default. Neither the account, the template nor the request sets it.',
})

export const EnvVar = builder.objectRef<EnvVarShape & { source: LaunchSource }>('EnvVar').implement({
  description: 'An environment variable of a container.',
  fields: t => ({
    name: t.exposeString('name', { description: 'Name of the variable.' }),
    value: t.string({
      nullable: true,
      description: 'Value of the variable. Null when it is secret.',
      resolve: ({ value, secret }) => (secret ? null : value),
    }),
    secret: t.boolean({
      description: 'Whether the value is stored encrypted and never shown.',
      resolve: ({ secret = false }) => secret,
    }),
    source: t.expose('source', { type: ConfigSource, description: 'Origin of the setting.' }),
  }),
})

export const PortMapping = builder.objectRef<Port & { source: LaunchSource }>('PortMapping').implement({
  description: 'A requested public port that is forwarded to a port of the container.',
  fields: t => ({
    containerPort: t.exposeInt('containerPort', { description: 'Port inside the container.' }),
    hostPort: t.exposeInt('hostPort', {
      description: 'Preferred public port. If it is taken, another one is assigned; see `Instance.connection`.',
    }),
    protocol: t.expose('protocol', { type: PortProtocol, description: 'Transport protocol of the port.' }),
    source: t.expose('source', { type: ConfigSource, description: 'Origin of the setting.' }),
  }),
})

const settingDescriptions = {
  image: 'Origin of the container image.',
  mode: 'Origin of the launch mode.',
  lab: 'Origin of the choice between JupyterLab and the classic notebook.',
  directory: 'Origin of the directory in which the notebook starts.',
  args: 'Origin of the arguments for the entrypoint.',
  hostname: 'Origin of the host name.',
  onStart: 'Origin of the shell commands that run once the container is up.',
  registry: 'Origin of the registry credentials.',
  diskGb: 'Origin of the disk size.',
}

const LaunchConfigSources = builder.objectRef<LaunchSources>('LaunchConfigSources').implement({
  description: 'Origin of each setting that is not a list. Each variable and port has its own `source`.',
  fields: t =>
    Object.fromEntries(
      Object.entries(settingDescriptions).map(([name, description]) => [
        name,
        t.field({ type: ConfigSource, description, resolve: sources => sources[name] ?? 'default' }),
      ]),
    ),
})

type LaunchConfigShape = Pick<Instance, 'launch' | 'diskMb'>

export const LaunchConfig = builder.objectRef<LaunchConfigShape>('LaunchConfig').implement({
  description:
    'Settings that an instance starts with, with all defaults filled in. They have the shape of the settings of a rent request.',
  fields: t => ({
    image: t.string({
      description: 'Container image, such as `pytorch/pytorch:latest`.',
      resolve: ({ launch }) => launch.image,
    }),
    mode: t.field({
      type: LaunchMode,
      description: 'Program that starts in the instance, and the way to reach it.',
      resolve: ({ launch }) => launch,
    }),
    diskGb: t.float({ description: 'Size of the disk in GB.', resolve: ({ diskMb }) => diskMb / 1000 }),
    env: t.field({
      type: [EnvVar],
      description: 'Environment variables of the container.',
      resolve: ({ launch: { env, sources } }) =>
        env.map(variable => ({ ...variable, source: sources[`env.${variable.name}`] ?? 'default' })),
    }),
    ports: t.field({
      type: [PortMapping],
      description:
        'Requested public ports and those that the mode needs. `Instance.connection` lists the ports assigned.',
      resolve: ({ launch: { ports, sources } }) =>
        ports.map(port => ({ ...port, source: sources[`ports.${printPort(port)}`] ?? 'default' })),
    }),
    hostname: t.string({
      nullable: true,
      description: 'Host name of the container. Null when not set.',
      resolve: ({ launch }) => launch.hostname,
    }),
    onStart: t.string({
      nullable: true,
      description: 'Shell commands that run once the container is up. Null when not set.',
      resolve: ({ launch }) => launch.onStart,
    }),
    sources: t.field({
      type: LaunchConfigSources,
      description: 'Origin of each setting.',
      resolve: ({ launch }) => launch.sources,
    }),
    warnings: t.stringList({
      description: 'Accepted settings that may not behave as you expect.',
      resolve: ({ launch }) => launchWarningsOf(launch),
    }),
  }),
})
