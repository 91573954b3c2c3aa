import type { Logger } from 'pino'
import type { Database } from '../database/client.ts'
import type { AdmissionRules } from '../domain/billing/admission.ts'
import type { SshProxy } from '../domain/instances/instances.ts'
import type { ContainerConsole } from './container-console.ts'
import type { Feed } from './feed.ts'
import type { Secrets } from './secrets.ts'

/** What every service is built from. Made once, in app.ts. */
export type DataDeps = { database: Database }

/**
 * What those need beside it that keep secrets, tell what happens, or say how an instance is entered. `privateWebhooks`:
 * events may be sent into the network that Berth stands in. `admission`: what decides whether an account may have more.
 */
export type Deps = DataDeps & {
  log: Logger
  secrets: Secrets
  feed: Feed
  containerConsole: ContainerConsole
  sshProxy: SshProxy | null
  admission: AdmissionRules
  privateWebhooks?: boolean | undefined
}
