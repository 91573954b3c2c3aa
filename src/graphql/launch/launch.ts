import type { Instance } from '../../domain/instances/instances.ts'
import { type EnvVar as EnvVarShape, type Port, printPort } from '../../domain/launch/env.ts'
import {
  type LaunchSource,
  type LaunchSources,
  launchWarningsOf,
  type LaunchMode as Mode,
} from '../../domain/launch/launch.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'

export const LaunchMode = enumOf<Mode>('LaunchMode', 'How an instance is entered, and what starts in it.', {
  sshDirect: 'SSH on a public port of its own.',
  sshProxy: 'SSH through the proxy. Where the operator runs none, SSH on a public port.',
  jupyterDirect: 'A notebook and SSH on public ports of their own.',
  jupyterProxy: 'A notebook and SSH through the proxy. Where the operator runs none, both on public ports.',
  args: "The image's own entrypoint, with arguments. Neither SSH nor notebook.",
})

export const PortProtocol = builder.enumType('PortProtocol', {
  description: 'What a port speaks.',
  values: { TCP: { value: 'tcp', description: 'TCP.' }, UDP: { value: 'udp', description: 'UDP.' } } as const,
})

const ConfigSource = enumOf<LaunchSource>('ConfigSource', 'Where a setting came from.', {
  account: 'From the secret variables of the account, and neither the template nor the request said otherwise.',
  template: 'From the template, and the request did not say otherwise.',
  request: 'From the request.',
  default: 'Nobody said anything.',
})

export const EnvVar = builder.objectRef<EnvVarShape & { source: LaunchSource }>('EnvVar').implement({
  description: 'An environment variable.',
  fields: t => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    value: t.string({
      nullable: true,
      description: 'Its value. Null for a secret one.',
      resolve: ({ value, secret }) => (secret ? null : value),
    }),
    secret: t.boolean({
      description: 'Whether its value is kept encrypted and shown to nobody.',
      resolve: ({ secret = false }) => secret,
    }),
    source: t.expose('source', { type: ConfigSource, description: 'Where it came from.' }),
  }),
})

export const PortMapping = builder.objectRef<Port & { source: LaunchSource }>('PortMapping').implement({
  description: 'A public port that is wished, and leads into an instance.',
  fields: t => ({
    containerPort: t.exposeInt('containerPort', { description: 'The port inside.' }),
    hostPort: t.exposeInt('hostPort', {
      description: 'The public port that is wished. Another is given when it is taken.',
    }),
    protocol: t.expose('protocol', { type: PortProtocol, description: 'What it speaks.' }),
    source: t.expose('source', { type: ConfigSource, description: 'Where it came from.' }),
  }),
})

const settingDescriptions = {
  image: 'The image.',
  mode: 'How it is entered.',
  lab: 'JupyterLab or the classic notebook.',
  directory: 'Where the notebook starts.',
  args: 'Arguments for the entrypoint.',
  hostname: 'The host name.',
  onStart: 'Shell commands that run once it is up.',
  registry: 'Credentials of a private registry.',
  diskGb: 'The size of the disk.',
}

const LaunchConfigSources = builder.objectRef<LaunchSources>('LaunchConfigSources').implement({
  description: 'Where each setting came from that is not a list. Variables and ports each say so themselves.',
  fields: t =>
    Object.fromEntries(
      Object.entries(settingDescriptions).map(([name, description]) => [
        name,
        t.field({ type: ConfigSource, description, resolve: sources => sources[name] ?? 'default' }),
      ]),
    ),
})

type LaunchConfigShape = Pick<Instance, 'launch'>

export const LaunchConfig = builder.objectRef<LaunchConfigShape>('LaunchConfig').implement({
  description: 'What is started on an instance, all defaults filled in.',
  fields: t => ({
    image: t.string({ description: 'The image.', resolve: ({ launch }) => launch.image }),
    mode: t.field({ type: LaunchMode, description: 'How it is entered.', resolve: ({ launch }) => launch.mode }),
    args: t.stringList({
      description: 'Arguments for the entrypoint, in ARGS mode.',
      resolve: ({ launch }) => launch.args,
    }),
    lab: t.boolean({ description: 'JupyterLab instead of the classic notebook.', resolve: ({ launch }) => launch.lab }),
    directory: t.string({
      nullable: true,
      description: 'Where the notebook starts.',
      resolve: ({ launch }) => launch.directory,
    }),
    env: t.field({
      type: [EnvVar],
      description: 'Its environment.',
      resolve: ({ launch: { env, sources } }) =>
        env.map(variable => ({ ...variable, source: sources[`env.${variable.name}`] ?? 'default' })),
    }),
    ports: t.field({
      type: [PortMapping],
      description:
        'The public ports that were asked for, with those of the mode. `connection` has all that were given.',
      resolve: ({ launch: { ports, sources } }) =>
        ports.map(port => ({ ...port, source: sources[`ports.${printPort(port)}`] ?? 'default' })),
    }),
    hostname: t.string({ nullable: true, description: 'Its host name.', resolve: ({ launch }) => launch.hostname }),
    onStart: t.string({
      nullable: true,
      description: 'Shell commands that run once it is up.',
      resolve: ({ launch }) => launch.onStart,
    }),
    sources: t.field({
      type: LaunchConfigSources,
      description: 'Where the settings came from.',
      resolve: ({ launch }) => launch.sources,
    }),
    warnings: t.stringList({
      description: 'What is accepted, and may not do what the renter expects.',
      resolve: ({ launch }) => launchWarningsOf(launch),
    }),
  }),
})
