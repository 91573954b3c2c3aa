import type { Issue } from '../../domain/errors.ts'
import type { Environment, EnvVar, Port } from '../../domain/launch/env.ts'
import { parseEnvFlags } from '../../domain/launch/env-flags.ts'
import type { LaunchInput } from '../../domain/launch/launch.ts'
import { builder } from '../builder.ts'
import { PortProtocol } from './launch.ts'
import { LaunchModeInput, parseModeInput } from './mode.ts'

const EnvVarInput = builder.inputType('EnvVarInput', {
  description: 'An environment variable to set.',
  fields: t => ({
    name: t.string({
      required: true,
      description: 'Name of the variable: letters, digits and _, not starting with a digit.',
    }),
    value: t.string({ required: true, description: 'Value of the variable.' }),
    secret: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Store the value encrypted and never show it again. Only the instance receives it. Defaults to false.',
    }),
  }),
})

const PortMappingInput = builder.inputType('PortMappingInput', {
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
      description: 'Transport protocol. Defaults to TCP.',
    }),
  }),
})

const RegistryCredentialInput = builder.inputType('RegistryCredentialInput', {
  description: 'Credentials of a private registry. The password is stored encrypted and never shown.',
  fields: t => ({
    host: t.string({ required: true, description: 'Host of the registry, such as `ghcr.io`.' }),
    username: t.string({ required: true, description: 'User name for the registry.' }),
    password: t.string({ required: true, description: 'Password or access token.' }),
  }),
})

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>

/** The settings that instances and templates share. */
export const launchFields = (t: InputFields) => ({
  mode: t.field({
    type: LaunchModeInput,
    description:
      "Launch mode: SSH, a notebook, or the entrypoint of the image. Defaults to the template's mode, or else to SSH through the proxy.",
  }),
  diskGb: t.float({ description: "Disk size in GB, at least 8. Defaults to the template's size, or else to 8." }),
  env: t.field({ type: [EnvVarInput], required: true, defaultValue: [], description: 'Environment variables to set.' }),
  ports: t.field({
    type: [PortMappingInput],
    required: true,
    defaultValue: [],
    description: 'Public ports to forward to the container.',
  }),
  envFlags: t.string({
    description:
      'Variables, ports and a host name as flags of docker: `-e A=1 -p 80:80/udp -h name`. `env` and `hostname` override these flags.',
  }),
  registry: t.field({ type: RegistryCredentialInput, description: 'Credentials for an image in a private registry.' }),
  onStart: t.string({ description: 'Shell commands that run once the container is up, at most 4048 characters.' }),
  hostname: t.string({ description: 'Host name of the container, at most 63 characters.' }),
  pythonUtf8: t.boolean({
    required: true,
    defaultValue: false,
    description: 'Set `PYTHONUTF8` to 1. Defaults to false.',
  }),
  langUtf8: t.boolean({
    required: true,
    defaultValue: false,
    description: 'Set `LANG` and `LC_ALL` to C.UTF-8. Defaults to false.',
  }),
})
type LaunchFieldsInput = {
  mode?: typeof LaunchModeInput.$inferInput | null | undefined
  diskGb?: number | null | undefined
  env: (typeof EnvVarInput.$inferInput)[]
  ports: (typeof PortMappingInput.$inferInput)[]
  envFlags?: string | null | undefined
  registry?: typeof RegistryCredentialInput.$inferInput | null | undefined
  onStart?: string | null | undefined
  hostname?: string | null | undefined
  pythonUtf8: boolean
  langUtf8: boolean
}

/** Input paths of the fields that have another name in the domain. */
export const launchIssuePaths: Record<string, string> = {
  lab: 'mode.jupyter.lab',
  directory: 'mode.jupyter.directory',
  args: 'mode.args.argsString',
  // A template input has no `volumes`, so only flags can name them.
  volumes: 'envFlags',
}

export function parseLaunchInput({
  mode,
  diskGb,
  registry,
  onStart,
  pythonUtf8,
  langUtf8,
  ...surroundings
}: LaunchFieldsInput): LaunchInput {
  const { environment, issues } = parseEnvironmentInput(surroundings)
  const { parseIssues = [], ...settings } = parseModeInput(mode)
  return {
    ...settings,
    environment,
    registry: registry ?? undefined,
    diskGb: diskGb ?? undefined,
    onStart: onStart ?? undefined,
    pythonUtf8,
    langUtf8,
    parseIssues: [...parseIssues, ...issues],
  }
}

type EnvironmentInput = Pick<LaunchFieldsInput, 'env' | 'ports' | 'envFlags' | 'hostname'>

function parseEnvironmentInput({ env, ports, envFlags, hostname }: EnvironmentInput): {
  environment: Environment
  issues: Issue[]
} {
  const { environment: flags, issues } = parseEnvFlags(envFlags ?? '')
  const environment = {
    env: [...flags.env, ...env.map(parseEnvVarInput)],
    ports: [...flags.ports, ...ports.map(parsePortInput)],
    hostname: hostname || flags.hostname,
    volumes: flags.volumes,
  }
  return { environment, issues: issues.map(issue => ({ ...issue, path: 'envFlags' })) }
}

function parseEnvVarInput({ name, value, secret }: typeof EnvVarInput.$inferInput): EnvVar {
  return secret ? { name, value, secret } : { name, value }
}

function parsePortInput({ hostPort, containerPort, protocol }: typeof PortMappingInput.$inferInput): Port {
  return { hostPort: hostPort ?? containerPort, containerPort, protocol }
}
