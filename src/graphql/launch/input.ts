import type { Issue } from '../../domain/errors.ts'
import type { Environment, EnvVar, Port } from '../../domain/launch/env.ts'
import { parseEnvFlags } from '../../domain/launch/env-flags.ts'
import type { LaunchInput } from '../../domain/launch/launch.ts'
import { builder } from '../builder.ts'
import { PortProtocol } from './launch.ts'
import { LaunchModeInput, parseModeInput } from './mode.ts'

const EnvVarInput = builder.inputType('EnvVarInput', {
  description: 'An environment variable.',
  fields: t => ({
    name: t.string({ required: true, description: 'Letters, digits and _, not starting with a digit.' }),
    value: t.string({ required: true, description: 'Its value.' }),
    secret: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Keep the value encrypted, and never show it. Only the instance gets it.',
    }),
  }),
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

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>

/** The settings that an instance and a template have alike. */
export const launchFields = (t: InputFields) => ({
  mode: t.field({
    type: LaunchModeInput,
    description: 'How it is entered. SSH through the proxy, when neither the rental nor its template says.',
  }),
  diskGb: t.float({ description: 'Its disk in GB, at least 8. 8 when neither the rental nor its template says.' }),
  env: t.field({ type: [EnvVarInput], required: true, defaultValue: [], description: 'Environment variables.' }),
  ports: t.field({ type: [PortMappingInput], required: true, defaultValue: [], description: 'Public ports.' }),
  envFlags: t.string({
    description:
      'Variables, ports and a host name as flags of docker: `-e A=1 -p 80:80/udp -h name`. What `env` and `hostname` say counts more.',
  }),
  registry: t.field({ type: RegistryCredentialInput, description: 'For an image in a private registry.' }),
  onStart: t.string({ description: 'Shell commands that run once it is up, at most 4048 characters.' }),
  hostname: t.string({ description: 'Its host name.' }),
  pythonUtf8: t.boolean({ required: true, defaultValue: false, description: 'Set `PYTHONUTF8` to 1.' }),
  langUtf8: t.boolean({ required: true, defaultValue: false, description: 'Set `LANG` and `LC_ALL` to C.UTF-8.' }),
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

/** Where the input has what the domain calls otherwise. */
export const launchIssuePaths: Record<string, string> = {
  lab: 'mode.jupyter.lab',
  directory: 'mode.jupyter.directory',
  args: 'mode.args.argsString',
  // Only flags can name them.
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
