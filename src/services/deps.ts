import type { Database } from '../database/client.ts'
import type { Secrets } from './secrets.ts'

/** What services are built from. Made once, in app.ts. */
export type Deps = {
  database: Database
  now: () => Date
  secrets: Secrets
  /** Called after a commit that left something to do; whoever does it then need not wait for the next poll. */
  wake: () => void
}
