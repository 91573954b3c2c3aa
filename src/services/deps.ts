import type { Database } from '../database/client.ts'

/** What services are built from. Made once, in app.ts. */
export type Deps = { database: Database; now: () => Date }
