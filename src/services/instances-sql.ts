// Parts of statements on instances, which they call `i`.

import { Prisma } from '../database/generated/client.ts'
import { finalStatuses } from '../domain/instances.ts'

/** Whether an instance wants its GPUs, as domain/instances.ts has it. */
export const wantsGpus = Prisma.sql`i.target_state = 'running' AND i.destroyed_at IS NULL
  AND i.status <> ALL (${finalStatuses}::instance_status[])`
