// Decides who may use the notebook of which instance through the gateway. A client has no API key: its permission is the
// token of the notebook, or a cookie that it got for the token.

import type { OwnedContainerRef } from '../../../domain/instances/containers.ts'
import { notRunningRefusal } from '../../../domain/instances/states.ts'
import { createBatcher } from '../../batches.ts'
import type { Deps } from '../../deps.ts'
import { readNotebooks } from './read.ts'
import { readNotebookToken } from './token.ts'

export type NotebookAccess = {
  container: OwnedContainerRef
  token: string
  /** The value of the cookie. It ends with the token and with the instance. */
  cookie: string
  /** Why the notebook cannot be reached now, and what to do. */
  refusal: string | undefined
}
export type NotebookServices = ReturnType<typeof createNotebookServices>

/** For the notebook face, whose callers have no API key. */
export function createNotebookServices({ database, secrets, log }: Pick<Deps, 'database' | 'secrets' | 'log'>) {
  type Lookup = { instanceId: bigint }

  async function findAll(instanceIds: readonly bigint[]): Promise<Map<bigint, NotebookAccess>> {
    const rows = await readNotebooks(database, instanceIds)
    return new Map(rows.flatMap(row => accessOf(row).map(access => [row.id, access] as const)))
  }

  const lookUp = createBatcher<Lookup, NotebookAccess | undefined>(
    {
      async many(lookups) {
        const found = await findAll([...new Set(lookups.map(({ instanceId }) => instanceId))])
        return new Map(lookups.map(lookup => [lookup, found.get(lookup.instanceId)]))
      },
      one: async ({ instanceId }) => (await findAll([instanceId])).get(instanceId),
      accountOf: ({ instanceId }) => Number(instanceId),
    },
    log,
  )

  return {
    /** What opens the notebooks of instances. Instances without one are left out. */
    findAll,
    /** As `findAll`, for one. Anybody can ask, without a token, so what is asked at once is looked up at once. */
    find: (instanceId: bigint) => lookUp({ instanceId }),
  }

  type Row = Awaited<ReturnType<typeof readNotebooks>>[number]

  /** Empty if its token cannot be read. */
  function accessOf(row: Row): NotebookAccess[] {
    const { id, accountId, machineId } = row
    const token = readNotebookToken({ secrets, log }, row)
    if (token === undefined) return []
    const cookie = secrets.digest('notebook cookie', JSON.stringify([String(id), token])).toString('base64url')
    const container = { machineId, instanceId: id, accountId }
    return [{ container, token, cookie, refusal: notRunningRefusal(row) }]
  }
}
