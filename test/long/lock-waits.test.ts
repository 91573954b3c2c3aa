import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Actor } from '../../src/domain/actor.ts'
import { unboundedSql } from '../support/accounts/unbounded.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { withSession } from '../support/database/sessions.ts'
import { listMachines } from '../support/factories.ts'
import { type Gateway, openGateway } from '../support/gateways.ts'

const gpusOfMachine = 8
/** 1,000 instances, one on each GPU. */
const busyMachines = 125
const freeMachines = 40
const maxWaitMs = 200

let testDatabase: TestDatabase
let gateway: Gateway
/** Of single rentals. */
let renting: Gateway
let many: Actor
let other: Actor

beforeAll(async () => {
  testDatabase = await createDatabase()
  const open = (poolSize: number) =>
    openGateway({ url: testDatabase.url, now: () => new Date(), poolSize, delayFactor: 0.001 })
  gateway = open(8)
  renting = open(1)
  const machine = (index: number) => ({
    machine: { numGpus: gpusOfMachine, publicIp: `198.18.${Math.floor(index / 200)}.${1 + (index % 200)}` },
  })
  const machines = Array.from({ length: busyMachines + freeMachines }, (_, index) => machine(index))
  await listMachines(gateway.operations, machines)
  many = await gateway.newActor()
  other = await gateway.newActor()
  for (const { accountId } of [many, other]) await gateway.sql(unboundedSql(accountId))
  const offers = await offersOn(1, busyMachines)
  expect(offers).toHaveLength(busyMachines * gpusOfMachine)
  const renter = async () => {
    for (let offer = offers.pop(); offer !== undefined; offer = offers.pop()) await gateway.rent(many, offer)
  }
  await Promise.all(Array.from({ length: 6 }, renter))
  await gateway.idle()
})

afterAll(async () => {
  await renting.close()
  await gateway.close()
  await testDatabase.drop()
})

async function offersOn(first: number, last: number): Promise<bigint[]> {
  const rows = await gateway.sql(
    'SELECT id FROM offers WHERE rentable AND num_gpus = 1 AND machine_id BETWEEN $1 AND $2 ORDER BY id',
    [first, last],
  )
  return rows.map(({ id }) => BigInt(id as string))
}

/** The waits for locks of the sessions of single rentals while commands on all 1,000 instances run, in ms. */
async function measureWaits(renter: Actor): Promise<{ longestWait: number; rentals: number[]; commands: number[] }> {
  const ids = (
    await gateway.sql('SELECT id FROM instances WHERE account_id = $1 AND machine_id <= $2 ORDER BY id', [
      many.accountId,
      busyMachines,
    ])
  ).map(({ id }) => BigInt(id as string))
  expect(ids).toHaveLength(busyMachines * gpusOfMachine)
  const offers = await offersOn(busyMachines + 1, busyMachines + freeMachines)
  const sessions = await renting.sql('SELECT pg_backend_pid() AS pid')
  const rentals: number[] = []
  const commands: number[] = []
  let isDone = false

  async function command(): Promise<void> {
    const { instances } = gateway.services
    for (const targetState of ['stopped', 'running', 'stopped', 'running'] as const) {
      commands.push(await timed(() => instances.update(many, { ids }, { targetState })))
    }
    commands.push(await timed(() => instances.update(many, { ids }, { label: `label ${renter.accountId}` })))
    isDone = true
  }

  async function rent(): Promise<void> {
    while (!isDone) {
      const offer = offers.pop()
      if (offer === undefined) return
      rentals.push(await timed(() => renting.rent(renter, offer)))
    }
  }

  async function watch(): Promise<number> {
    let longest = 0
    await withSession(testDatabase.url, async session => {
      while (!isDone) {
        const { rows } = await session.query(
          'SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)::float8 * 1000 AS ms FROM pg_locks WHERE NOT granted AND pid = ANY($1)',
          [sessions.map(({ pid }) => pid)],
        )
        longest = Math.max(longest, rows[0].ms)
        await sleep(2)
      }
    })
    return longest
  }
  const [longestWait] = await Promise.all([watch(), rent(), command()])
  return { longestWait, rentals, commands }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

it('lets rentals elsewhere go on during commands on 1,000 instances', async () => {
  const { longestWait, rentals, commands } = await measureWaits(other)
  print('another account', { longestWait, rentals, commands })
  expect(rentals.length).toBeGreaterThan(20)
  expect(longestWait).toBeLessThan(maxWaitMs)
})

it('lets rentals of the same account wait for one command at most', async () => {
  const { longestWait, rentals, commands } = await measureWaits(many)
  print('the same account', { longestWait, rentals, commands })
  expect(rentals.length).toBeGreaterThan(5)
  // They do wait for the lock of their account, so the test above would see waits.
  expect(longestWait).toBeGreaterThan(0)
  expect(longestWait).toBeLessThan(Math.max(...commands))
})

function print(who: string, { longestWait, rentals, commands }: Awaited<ReturnType<typeof measureWaits>>): void {
  const sorted = rentals.toSorted((a, b) => a - b)
  const ms = (value = Number.NaN) => `${value.toFixed(0)} ms`
  process.stdout.write(
    `${rentals.length} rentals of ${who}: longest wait for a lock ${ms(longestWait)}, median ${ms(sorted[Math.floor(sorted.length / 2)])}, slowest ${ms(sorted.at(-1))}. Commands: ${commands.map(ms).join(', ')}.\n`,
  )
}
