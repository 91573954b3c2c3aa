// Changes of the shared settings: absent fields stay as they are, and null removes a setting.

import type { Issue } from '../../domain/errors.ts'
import type { Environment } from '../../domain/launch/env.ts'
import type { TemplatePatch } from '../../domain/templates/patch.ts'
import {
  type Change,
  EnvVarInput,
  type InputFields,
  launchDescriptions,
  PortMappingInput,
  parseEnvInput,
  parsePortsInput,
  parseRegistryInput,
  RegistryCredentialInput,
} from './input.ts'
import { LaunchModeInput, parseModeInput } from './mode.ts'

/** Settings to change. */
export const launchChangeFields = (t: InputFields) => ({
  mode: t.field({
    type: LaunchModeInput,
    description: `${launchDescriptions.mode} If absent, it stays; null leaves it to the rent request.`,
  }),
  diskGb: t.float({
    description: `${launchDescriptions.diskGb} If absent, it stays; null leaves it to the rent request.`,
  }),
  env: t.field({
    type: [EnvVarInput],
    description: `${launchDescriptions.env} The list replaces all variables. If absent, they stay; null or an empty list removes them.`,
  }),
  ports: t.field({
    type: [PortMappingInput],
    description: `${launchDescriptions.ports} The list replaces all ports. If absent, they stay; null or an empty list removes them.`,
  }),
  registry: t.field({
    type: RegistryCredentialInput,
    description: `${launchDescriptions.registry} If absent, they stay; null removes them.`,
  }),
  onStart: t.string({ description: `${launchDescriptions.onStart} If absent, they stay; null removes them.` }),
  hostname: t.string({ description: `${launchDescriptions.hostname} If absent, it stays; null removes it.` }),
})

type LaunchChanges = {
  mode?: Change<typeof LaunchModeInput.$inferInput>
  diskGb?: Change<number>
  env?: Change<(typeof EnvVarInput.$inferInput)[]>
  ports?: Change<(typeof PortMappingInput.$inferInput)[]>
  registry?: Change<typeof RegistryCredentialInput.$inferInput>
  onStart?: Change<string>
  hostname?: Change<string>
}

export function parseLaunchChanges({ mode, diskGb, registry, onStart, ...surroundings }: LaunchChanges): {
  launch: TemplatePatch['launch']
  parseIssues: Issue[]
} {
  const { environment, issues } = parseEnvironmentChanges(surroundings)
  const login = parseRegistryInput(registry)
  const launch = {
    ...(mode ? parseModeInput(mode) : { mode }),
    environment,
    registry: registry === null ? null : login.registry,
    onStart: textChange(onStart),
    diskGb,
  }
  return { launch, parseIssues: [...issues, ...login.issues] }
}

function parseEnvironmentChanges({ env, ports, hostname }: Pick<LaunchChanges, 'env' | 'ports' | 'hostname'>): {
  environment: Partial<Environment> | undefined
  issues: Issue[]
} {
  if (env === undefined && ports === undefined && hostname === undefined) return { environment: undefined, issues: [] }
  const { variables, issues } = parseEnvInput(env ?? [])
  const forwarded = parsePortsInput(ports ?? [])
  const environment = {
    ...(env === undefined ? {} : { env: variables }),
    ...(ports === undefined ? {} : { ports: forwarded.ports }),
    ...(hostname === undefined ? {} : { hostname: hostname ?? undefined }),
  }
  return { environment, issues: [...issues, ...forwarded.issues] }
}

/** The text that services take: null removes a text, and is empty there. */
export function textChange(text: Change<string>): string | undefined {
  return text === null ? '' : text
}
