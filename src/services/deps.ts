import type { Logger } from 'pino'
import type { Database } from '../database/client.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { AdmissionRules } from '../domain/billing/admission.ts'
import type { SshProxy } from '../domain/instances/instances.ts'
import type { NotebookProxy } from '../domain/instances/notebook.ts'
import type { RememberedKeys } from './accounts/api-keys/remembered-keys.ts'
import type { ContainerConsole } from './container-console.ts'
import type { Feed } from './feed.ts'
import type { Simulation } from './instances/metrics/port.ts'
import type { Secrets } from './secrets.ts'

/** Dependencies of every service, created once in app.ts. */
export type DataDeps = { database: Database }

/** Dependencies of services whose reads may be stale: see `reads/stale.ts`. */
export type ReadDeps = DataDeps & { replica?: Replica | undefined }

/** `gatewayId`: a UUID that names this gateway. One without it holds no connections of agents. */
export type GatewayDeps = DataDeps & { gatewayId?: string | undefined }

/**
 * Dependencies of services that also keep secrets, stream events, or reach instances. `privateWebhooks`: webhooks may
 * use private addresses. `admission`: the rules for whether an account may add costs.
 */
export type Deps = GatewayDeps &
  ReadDeps & {
    log: Logger
    secrets: Secrets
    rememberedKeys: RememberedKeys
    feed: Feed
    containerConsole: ContainerConsole
    simulation: Simulation
    sshProxy: SshProxy | null
    notebookProxy: NotebookProxy | null
    admission: AdmissionRules
    privateWebhooks?: boolean | undefined
  }
