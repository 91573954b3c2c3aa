// A renter over REST that rents, reboots, runs commands and destroys, and repeats each request until an answer arrives.

import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandRecord, Renter } from '../instances/renters.ts'
import type { SeededRandom } from '../seeded-random.ts'

type RestRenterOptions = {
  renter: Renter
  pick: (random: SeededRandom) => Promise<string>
  sql: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
}
// biome-ignore lint/suspicious/noExplicitAny: depends on the route
type RestAnswer = { status: number; body: any }
type Call = { method: string; path: string; body?: object; idempotencyKey?: string }

const maxOwned = 6
const images = ['ubuntu', 'pytorch', 'simulated/slow-stop:30']
const busyStatuses = [429, 502, 503, 504]
const busyErrors = ['outcome_unknown', 'idempotency_in_progress']

export function createRestRenter({ renter, pick, sql }: RestRenterOptions) {
  const records: CommandRecord[] = []
  const counts = { requests: 0, lost: 0, busy: 0, rentals: 0, reboots: 0, rebootsRefused: 0, commands: 0 }
  /** How many reboots of each instance were accepted. */
  const reboots = new Map<string, number>()
  const owned: string[] = []
  /** Instances of which a request is under way. */
  const busy = new Set<string>()
  let marks = 0

  /** Every request is sent with an idempotency key or may be repeated without. */
  async function ask(random: SeededRandom, call: Call): Promise<RestAnswer> {
    for (;;) {
      counts.requests += 1
      const answer = await send(await pick(random), renter.apiKey, call).catch(() => undefined)
      const isBusy = answer && (busyStatuses.includes(answer.status) || busyErrors.includes(answer.body.error))
      if (answer && !isBusy) return answer
      counts[answer ? 'busy' : 'lost'] += 1
      await sleep(random.between(5, 50))
    }
  }

  async function rent(random: SeededRandom): Promise<void> {
    const offers = await sql(
      'SELECT id FROM offers WHERE rentable AND withdrawn_at IS NULL AND num_gpus = 1 ORDER BY id',
    )
    const offer = random.pick(offers)
    if (!offer) return
    marks += 1
    const mark = `rest ${marks}`
    const path = `/asks/${offer['id']}/`
    const body = { client_id: 'me', image: random.pick(images), disk: random.between(8, 20), label: mark }
    const answer = await ask(random, { method: 'PUT', path, body, idempotencyKey: mark })
    if (answer.status !== 200 && ![404, 410].includes(answer.status))
      throw new Error(`Unexpected answer to a rental: ${JSON.stringify(answer)}`)
    const id = answer.status === 200 ? String(answer.body.new_contract) : undefined
    const instanceId = id === undefined ? undefined : BigInt(id)
    const command = { accountId: renter.accountId, instanceId, kind: 'INSTANCE_CREATED' as const, mark }
    records.push({ ...command, done: id === undefined ? 'no' : 'yes' })
    if (id === undefined) return
    counts.rentals += 1
    owned.push(id)
  }

  async function reboot(random: SeededRandom, id: string): Promise<void> {
    marks += 1
    const call = { method: 'PUT', path: `/instances/reboot/${id}/`, body: {}, idempotencyKey: `rest ${marks}` }
    const answer = await ask(random, call)
    if (answer.status !== 200) throw new Error(`Unexpected answer to a reboot: ${JSON.stringify(answer)}`)
    if (!answer.body.success) counts.rebootsRefused += 1
    else {
      counts.reboots += 1
      reboots.set(id, (reboots.get(id) ?? 0) + 1)
    }
  }

  async function execute(random: SeededRandom, id: string): Promise<void> {
    const answer = await ask(random, { method: 'PUT', path: `/instances/command/${id}/`, body: { command: 'ls' } })
    if (![200, 400].includes(answer.status))
      throw new Error(`Unexpected answer to a command: ${JSON.stringify(answer)}`)
    if (answer.body.success) counts.commands += 1
  }

  async function destroy(random: SeededRandom, id: string): Promise<void> {
    owned.splice(owned.indexOf(id), 1)
    const answer = await ask(random, { method: 'DELETE', path: `/instances/${id}/` })
    // 404: an earlier attempt whose answer was lost has destroyed it.
    if (![200, 404].includes(answer.status)) throw new Error(`Unexpected answer to a DELETE: ${JSON.stringify(answer)}`)
    const command = {
      accountId: renter.accountId,
      instanceId: BigInt(id),
      kind: 'INSTANCE_DESTROYED' as const,
      mark: '',
    }
    records.push({ ...command, done: 'yes' })
  }

  async function act(random: SeededRandom): Promise<void> {
    const kind = random.between(1, 100)
    const id = random.pick(owned.filter(one => !busy.has(one)))
    if (id === undefined || (kind <= 20 && owned.length < maxOwned)) return await rent(random)
    busy.add(id)
    if (kind <= 60) await reboot(random, id)
    else await (kind <= 85 ? execute : destroy)(random, id)
    busy.delete(id)
  }

  return {
    records,
    counts,
    reboots,
    async run(random: SeededRandom, isOver: () => boolean): Promise<void> {
      while (!isOver()) {
        await act(random)
        await sleep(random.between(20, 200))
      }
    },
  }
}

async function send(url: string, apiKey: string, { method, path, body, idempotencyKey }: Call): Promise<RestAnswer> {
  const response = await fetch(`${url}/api/v0${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: body ? JSON.stringify(body) : null,
    signal: AbortSignal.timeout(20_000),
  })
  return { status: response.status, body: await response.json() }
}
