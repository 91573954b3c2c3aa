import type { Database } from '../database/client.ts'
import type { Secrets } from './secrets.ts'

/** What every service is built from. Made once, in app.ts. */
export type DataDeps = { database: Database; now: () => Date }

/** What those need beside it that start something. */
export type Deps = DataDeps & {
  secrets: Secrets
  /** Called after a commit that left something to do; whoever does it then need not wait for the next poll. */
  wake: () => void
}
