// Clients of a proxy that hardly pause, while gateways behind it come and go.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask, ProxyClient } from './client.ts'

/** `changes`: whether the request must not be repeated unless it is known that nothing has happened. */
export type Outcome = { call: string; changes: boolean; status: number | string; text: string }

const volumesCall = 'PUT /api/v0/volumes/'

/** Each request for a volume has a name of its own. */
export function startLoad({ ask }: ProxyClient, { apiKey, machineId }: { apiKey: string; machineId: number }) {
  const headers = { authorization: `Bearer ${apiKey}` }
  const query = JSON.stringify({ query: '{ viewer { account { credit } } }' })
  const run = `${Date.now()}`
  const volume = (n: string) => JSON.stringify({ id: machineId, size: 1, name: `${run}-${n}` })
  const calls: { method: string; path: string; body?(n: string): string }[] = [
    { method: 'GET', path: '/api/v0/users/current/' },
    { method: 'POST', path: '/graphql', body: () => query },
    { method: 'PUT', path: '/api/v0/search/asks/', body: () => '{"q": {"limit": 1}}' },
    { method: 'PUT', path: '/api/v0/volumes/', body: volume },
  ]
  const outcomes: Outcome[] = []
  let isOver = false

  async function send(n: string, { method, path, body }: (typeof calls)[number]): Promise<void> {
    const what = { call: `${method} ${path}`, changes: method !== 'GET' }
    const asked: Ask = { method, path, headers, ...(body && { body: body(n) }) }
    try {
      const { status, text } = await ask(asked)
      outcomes.push({ ...what, status, text: status === 200 ? '' : text.slice(0, 300) })
    } catch (error) {
      outcomes.push({ ...what, status: (error as NodeJS.ErrnoException).code ?? String(error), text: '' })
    }
  }
  async function runClient(client: number): Promise<void> {
    for (let n = 0; !isOver; n += 1) {
      await send(`${client}-${n}`, calls[(client + n) % calls.length] as (typeof calls)[number])
      await sleep(20)
    }
  }
  const clients = calls.map((_, index) => runClient(index))
  return {
    /** How many volumes there are of each name that has been asked for: [{ name, count }]. */
    volumesSql: `SELECT name, count(*)::int AS count FROM volumes WHERE name LIKE '${run}-%' GROUP BY name`,
    async stop() {
      isOver = true
      await Promise.all(clients)
      const volumes = outcomes.filter(({ call }) => call === volumesCall)
      return { outcomes, failed: outcomes.filter(({ status }) => status !== 200), volumes }
    },
  }
}
