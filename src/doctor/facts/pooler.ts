import type pg from 'pg'
import type { PoolerFacts } from '../verdicts/connections.ts'
import { findRefusal, openClient, type Way, withClient } from './connect.ts'

/** How often two connections are tried: other clients of a pooler may come between. */
const tries = 3

/** A server names its process as it accepts a connection, and a pooler something else. */
export async function gatherPooler({ setting, url }: Way): Promise<PoolerFacts> {
  return await withClient(url, async client => {
    const isPooled = named(client) !== (await readProcess(client))
    return {
      setting,
      isPooled,
      sharesSessions: isPooled && (await sharesSessions(client, url)),
      refusal: isPooled ? await findRefusal(url) : undefined,
    }
  })
}

function named(client: pg.Client): number | null {
  return (client as pg.Client & { processID: number | null }).processID
}

async function readProcess(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}

/** A pooler of transactions gives the session of an idle client to another one. */
async function sharesSessions(client: pg.Client, url: string): Promise<boolean> {
  const other = await openClient(url)
  try {
    for (let attempt = 0; attempt < tries; attempt += 1) {
      const mine = await readProcess(client)
      if (mine === (await readProcess(other)) || mine !== (await readProcess(client))) return true
    }
    return false
  } finally {
    await other.end().catch(() => {})
  }
}
