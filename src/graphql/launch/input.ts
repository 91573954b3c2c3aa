// The settings that the inputs of instances and templates share. They have the shape in which the settings are read.

import type { Issue } from '../../domain/errors.ts'
import {
  type EnvVar,
  emptyEnvironment,
  envPath,
  issuesAt,
  type Port,
  portNumberProblem,
} from '../../domain/launch/env.ts'
import type { LaunchInput } from '../../domain/launch/launch.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import { builder } from '../builder.ts'
import { PortProtocol } from './launch.ts'
import { LaunchModeInput, parseModeInput } from './mode.ts'

export const EnvVarInput = builder.inputType('EnvVarInput', {
  description: 'An environment variable to set in the container.',
  fields: t => ({
    name: t.string({
      required: true,
      description: 'Name of the variable: letters, digits and _, not starting with a digit.',
    }),
    value: t.string({
      description:
        'Value of the variable, which may be empty unless it is secret. If absent or null, a secret variable keeps the value that the template or the account has stored under its name.',
    }),
    secret: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Store the value encrypted and never show it again. Only the instance receives it. Defaults to false.',
    }),
  }),
})

export const PortMappingInput = builder.inputType('PortMappingInput', {
  description: 'A public port to forward to a port of the container.',
  fields: t => ({
    containerPort: t.int({ required: true, description: 'Port inside the container, 1 to 65535.' }),
    hostPort: t.int({
      description:
        'Preferred public port, 1 to 65535. If it is taken, another one is assigned. Defaults to the container port.',
    }),
    protocol: t.field({
      type: PortProtocol,
      required: true,
      defaultValue: 'tcp',
      description: 'Transport protocol of the port. Defaults to `TCP`.',
    }),
  }),
})

export const RegistryCredentialInput = builder.inputType('RegistryCredentialInput', {
  description: 'Credentials of a private registry. The password is stored encrypted and never shown.',
  fields: t => ({
    host: t.string({ required: true, description: 'Host of the registry, such as `ghcr.io`.' }),
    username: t.string({ required: true, description: 'User name for the registry.' }),
    password: t.string({
      description:
        'Password or access token. If absent or null, the template keeps its password, which it must have for the same host and user name.',
    }),
  }),
})

export type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>

export const launchDescriptions = {
  mode: 'Launch mode: SSH, a notebook, or the entrypoint of the image. It is given whole: settings that it leaves out are off.',
  diskGb: 'Disk size in GB, 8 to 100,000.',
  env: 'Environment variables to set. A variable that is given twice has its last value.',
  ports: 'Public ports to forward to the container. The launch mode may add more.',
  registry: 'Credentials for an image in a private registry.',
  onStart: 'Shell commands that run once the container is up, at most 4048 characters.',
  hostname: 'Host name of the container, at most 63 characters.',
}

/** Settings of something new. `absent` says where a setting comes from that is absent or null. */
export const launchFields = (
  t: InputFields,
  absent: { mode: string; diskGb: string; env: string; ports: string; others: string },
) => ({
  mode: t.field({ type: LaunchModeInput, description: `${launchDescriptions.mode} ${absent.mode}` }),
  diskGb: t.float({ description: `${launchDescriptions.diskGb} ${absent.diskGb}` }),
  env: t.field({
    type: [EnvVarInput],
    required: true,
    defaultValue: [],
    description: `${launchDescriptions.env} ${absent.env}`,
  }),
  ports: t.field({
    type: [PortMappingInput],
    required: true,
    defaultValue: [],
    description: `${launchDescriptions.ports} ${absent.ports}`,
  }),
  registry: t.field({ type: RegistryCredentialInput, description: `${launchDescriptions.registry} ${absent.others}` }),
  onStart: t.string({ description: `${launchDescriptions.onStart} ${absent.others}` }),
  hostname: t.string({ description: `${launchDescriptions.hostname} ${absent.others}` }),
})

export type Change<Value> = Value | null | undefined
type LaunchFieldsInput = {
  mode?: Change<typeof LaunchModeInput.$inferInput>
  diskGb?: Change<number>
  env: (typeof EnvVarInput.$inferInput)[]
  ports: (typeof PortMappingInput.$inferInput)[]
  registry?: Change<typeof RegistryCredentialInput.$inferInput>
  onStart?: Change<string>
  hostname?: Change<string>
}

/** Input paths of the fields that have another name in the domain. */
export const launchIssuePaths: Record<string, string> = {
  lab: 'mode.jupyter.lab',
  directory: 'mode.jupyter.directory',
  args: 'mode.args.args',
}

export function parseLaunchInput({ mode, diskGb, env, ports, registry, onStart, hostname }: LaunchFieldsInput) {
  const { variables, issues } = parseEnvInput(env)
  const login = parseRegistryInput(registry)
  const forwarded = parsePortsInput(ports)
  return {
    ...(mode ? parseModeInput(mode) : {}),
    environment: {
      ...emptyEnvironment(),
      env: variables,
      ports: forwarded.ports,
      hostname: hostname || undefined,
    },
    registry: login.registry,
    diskGb: diskGb ?? undefined,
    onStart: onStart ?? undefined,
    parseIssues: [...issues, ...forwarded.issues, ...login.issues],
  } satisfies LaunchInput
}

/** The variables, in which a secret without a value is empty, and the problems of those that cannot do without a value. */
export function parseEnvInput(env: (typeof EnvVarInput.$inferInput)[]): { variables: EnvVar[]; issues: Issue[] } {
  const variables: EnvVar[] = []
  const issues: Issue[] = []
  for (const { name, value, secret } of env) {
    const message = secret ? emptySecret(value) : missingValue(value)
    if (message) issues.push({ path: envPath(name), message })
    else variables.push(secret ? { name, value: value ?? '', secret } : { name, value: value ?? '' })
  }
  return { variables, issues }
}

function emptySecret(value: Change<string>): string | undefined {
  return value === ''
    ? 'must not be empty, because it is secret. Leave out the value to keep the stored one.'
    : undefined
}

function missingValue(value: Change<string>): string | undefined {
  return value == null ? 'must have a value, because it is not secret.' : undefined
}

/** The valid ports, and the problems of the others. */
export function parsePortsInput(inputs: (typeof PortMappingInput.$inferInput)[]): { ports: Port[]; issues: Issue[] } {
  const ports: Port[] = []
  const issues: Issue[] = []
  for (const [index, { hostPort, containerPort, protocol }] of inputs.entries()) {
    const port = { hostPort: hostPort ?? containerPort, containerPort, protocol }
    const found = [
      ...issuesAt(`ports.${index}.containerPort`, portNumberProblem(containerPort)),
      ...(hostPort == null ? [] : issuesAt(`ports.${index}.hostPort`, portNumberProblem(hostPort))),
    ]
    issues.push(...found)
    if (found.length === 0) ports.push(port)
  }
  return { ports, issues }
}

/** The credentials, in which a password that is kept is empty. */
export function parseRegistryInput(registry: Change<typeof RegistryCredentialInput.$inferInput>): {
  registry: Registry | undefined
  issues: Issue[]
} {
  if (!registry) return { registry: undefined, issues: [] }
  const { host, username, password } = registry
  const message = 'must not have an empty password. Leave out the password to keep the stored one.'
  if (password === '') return { registry: undefined, issues: [{ path: 'registry', message }] }
  return { registry: { host, username, password: password ?? '' }, issues: [] }
}
