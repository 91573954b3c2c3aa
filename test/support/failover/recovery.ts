// How long gateways take to accept writes, from the first write that a new primary has accepted.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, run } from './cluster.ts'
import type { DatabaseNode } from './node.ts'

type RecoveryOptions = { cluster: Cluster; urls: string[]; apiKey: string; old: DatabaseNode }
export type Recovery = { newPrimary: string; withoutPrimaryMs: number; gatewaysMs: number[] }

const pollMs = 50
const timeoutMs = 120_000

/** Called right after the old primary was lost. */
export async function measureRecovery({ cluster, urls, apiKey, old }: RecoveryOptions): Promise<Recovery> {
  const [lostMs, candidates] = [performance.now(), cluster.nodes.filter(node => node !== old && node.isRunning())]
  const newPrimary = await Promise.any(candidates.map(untilWritten))
  const writtenMs = performance.now()
  const gatewaysMs = await Promise.all(
    urls.map(async url => {
      await untilDone(`the gateway ${url}`, () => writeThrough(url, apiKey))
      return Math.round(performance.now() - writtenMs)
    }),
  )
  return { newPrimary: newPrimary.addresses.name, withoutPrimaryMs: Math.round(writtenMs - lostMs), gatewaysMs }
}

async function untilWritten(node: DatabaseNode): Promise<DatabaseNode> {
  await untilDone(node.addresses.name, async () => {
    await run(node.urlOf('postgres'), 'CREATE TABLE IF NOT EXISTS written (at timestamptz)')
    await run(node.urlOf('postgres'), 'INSERT INTO written VALUES (now())')
  })
  return node
}

async function untilDone(what: string, write: () => Promise<void>): Promise<void> {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (performance.now() > end) throw new Error(`${what} accepts no writes`, { cause: error })
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
