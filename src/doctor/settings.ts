// The settings that checks look at, and what the program tells them about itself.

import type { RunUser } from '../database/embedded/run-user.ts'

export type Address = { host: string; port: number }

export type DoctorSettings = {
  host: string
  port: number
  databaseUrl: string | undefined
  directUrl: string | undefined
  ownerUrl: string | undefined
  metricsUrl: string | undefined
  poolSize: number
  replica: { url: string; maxLagMs: number } | null
  dataDir: string
  runAs: string | undefined
  secret: string | undefined
  ssh: { port: number; address: Address | null } | null
  sshProxy: Address | null
  notebooks: { port: number; proxy: { protocol: 'http' | 'https'; host: string } | null } | null
  gatewayUrl: string | null
}

export type Program = {
  version: string
  /** The settings, or what is wrong with them. */
  settings: DoctorSettings | { problems: readonly string[] }
  /** The names of the variables that have a value, and of all settings. */
  names: { given: readonly string[]; known: readonly string[] }
  /** Why this user cannot read the program; undefined if the user can. */
  findReadProblem(user: RunUser): Promise<string | undefined>
}
