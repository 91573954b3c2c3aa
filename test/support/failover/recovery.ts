// How long gateways take to accept writes, from the first write that a new primary has accepted.

import { setTimeout as sleep } from 'node:timers/promises'
import { withDatabase } from '../../../src/database/embedded/server.ts'
import { type Cluster, run } from './cluster.ts'
import type { DatabaseNode } from './node.ts'

type RecoveryOptions = { cluster: Cluster; urls: string[]; apiKey: string; old: DatabaseNode }
export type Recovery = {
  newPrimary: string
  withoutPrimaryMs: number
  /** Until HAProxy leads a new connection to the new primary. No gateway can write before. */
  haproxyMs: number
  gatewaysMs: number[]
}

const pollMs = 50
const timeoutMs = 120_000

/** Called right after the old primary was lost. */
export async function measureRecovery({ cluster, urls, apiKey, old }: RecoveryOptions): Promise<Recovery> {
  const [lostMs, candidates] = [performance.now(), cluster.nodes.filter(node => node !== old && node.isRunning())]
  const others = new AbortController()
  const newPrimary = await Promise.any(candidates.map(node => untilWritten(node, others.signal)))
  others.abort()
  const writtenMs = performance.now()
  const sinceWritten = async (what: string, write: () => Promise<void>) => {
    await untilDone(what, write)
    return Math.round(performance.now() - writtenMs)
  }
  const [haproxyMs = 0, ...gatewaysMs] = await Promise.all([
    sinceWritten('HAProxy', () => writePast(withDatabase(cluster.primaryUrl, 'postgres'))),
    ...urls.map(url => sinceWritten(`the gateway ${url}`, () => writeThrough(url, apiKey))),
  ])
  const withoutPrimaryMs = Math.round(writtenMs - lostMs)
  return { newPrimary: newPrimary.addresses.name, withoutPrimaryMs, haproxyMs, gatewaysMs }
}

async function untilWritten(node: DatabaseNode, until: AbortSignal): Promise<DatabaseNode> {
  await untilDone(node.addresses.name, () => writePast(node.urlOf('postgres')), until)
  return node
}

async function writePast(url: string): Promise<void> {
  await run(url, 'CREATE TABLE IF NOT EXISTS written (at timestamptz)')
  await run(url, 'INSERT INTO written VALUES (now())')
}

async function untilDone(what: string, write: () => Promise<void>, until?: AbortSignal): Promise<void> {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (until?.aborted || performance.now() > end) throw new Error(`${what} accepts no writes`, { cause: error })
      await sleep(pollMs)
    }
  }
}

let names = 0

async function writeThrough(url: string, apiKey: string): Promise<void> {
  names += 1
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      query: `mutation { createTemplate(input: { name: "written ${names}", image: "ubuntu" }) { __typename } }`,
    }),
    signal: AbortSignal.timeout(2_000),
  })
  const { data } = (await response.json()) as { data?: { createTemplate: { __typename: string } } }
  if (data?.createTemplate.__typename !== 'CreateTemplateSuccess') throw new Error(`${response.status}`)
}
