// A container that finds out what an engine does. Its image is made for it, and nothing of it is left.

import { randomBytes } from 'node:crypto'
import type { EngineClient } from '../engine/client.ts'

export const timeoutMs = 60_000

/** `work` gets the name that the container has, and its network if it makes one; the image is `name:1`. */
export async function withProbe<Value>(
  client: EngineClient,
  files: Buffer,
  work: (name: string, signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const name = `berth-probe-${randomBytes(6).toString('hex')}`
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const query = { fromSrc: '-', repo: name, tag: '1' }
    await client.call('POST', '/images/create', { query, tar: files, signal, deadlineMs: timeoutMs })
    return await work(name, signal)
  } finally {
    await removeAll(client, name)
  }
}

/** What was not made is not there. */
async function removeAll(client: EngineClient, name: string): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs)
  for (const path of [`/containers/${name}`, `/networks/${name}`, `/images/${name}:1`]) {
    await client.call('DELETE', path, { query: { force: 1 }, signal }).catch(() => {})
  }
}
