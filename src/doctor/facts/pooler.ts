import type pg from 'pg'
import { isPooled as sharesSessions } from '../../database/pooler/detect.ts'
import type { PoolerFacts } from '../verdicts/connections.ts'
import { findRefusal, openClient, type Way, withClient } from './connect.ts'

/** A server names its process as it accepts a connection, and a pooler something else. */
export async function gatherPooler({ setting, url }: Way): Promise<Omit<PoolerFacts, 'hasDirectUrl'>> {
  return await withClient(url, async client => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const isPooled = (client as pg.Client & { processID: number | null }).processID !== rows[0]?.pid
    return {
      setting,
      isPooled,
      sharesSessions: await sharesSessions(client, () => openClient(url)),
      refusal: isPooled ? await findRefusal(url) : undefined,
    }
  })
}
