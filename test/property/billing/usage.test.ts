import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { type Transaction, transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { type AccountBalance, lockAccount } from '../../../src/services/billing/balance.ts'
import {
  changeRate,
  chargeMeters,
  endGpuMeter,
  startGpuMeter,
  stopMeters,
} from '../../../src/services/billing/meters.ts'
import { refundAfter } from '../../../src/services/billing/refunds.ts'
import { gpuMetersSql, instanceMetersSql } from '../../../src/services/billing/sql.ts'
import {
  chargeUpTo,
  costBetween,
  createModelMeter,
  discardAfter,
  type ModelMeter,
} from '../../support/billing/cost-model.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 40)

const { sql } = Prisma
const [second, hour, day] = [1_000, 3_600_000, 86_400_000]
const start = Date.parse('2026-11-28T21:30:00.000Z')
let now = start
let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, now: () => new Date(now) })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const commands = fc.record({
  does: fc.constantFrom('post', 'start', 'start', 'stop', 'rate', 'outbid', 'lose'),
  which: fc.nat({ max: 1 }),
  // Clocks can step back.
  waits: fc.oneof(
    fc.integer({ min: -hour, max: hour }),
    fc.integer({ min: 0, max: 3 * day }),
    fc.constantFrom(0, second, hour, day),
  ),
  rateNanos: fc.bigInt({ min: 1n, max: 400_000_007n }),
})
type Command = typeof commands extends fc.Arbitrary<infer Value> ? Value : never

const usageQueries = fc.record({
  from: fc.integer({ min: -day, max: 20 * day }),
  length: fc.integer({ min: 1, max: 31 * day - hour }),
  bucket: fc.constantFrom('hour' as const, 'day' as const, 'month' as const),
})

/** The meter ends by a clock that is ahead of the clock by which its rate changes. */
const skewed = [
  { does: 'start' as const, which: 0, waits: hour, rateNanos: 100_000_000n },
  { does: 'outbid' as const, which: 0, waits: 2 * hour, rateNanos: 1n },
  { does: 'rate' as const, which: 0, waits: -hour, rateNanos: 300_000_000n },
  { does: 'post' as const, which: 0, waits: 5 * hour, rateNanos: 1n },
]

type Renter = {
  actor: Actor
  ids: bigint[]
  lost: Set<number>
  gpu: ModelMeter[]
  disks: ModelMeter[]
  volume: ModelMeter
}

async function newRenter(): Promise<Renter> {
  now = start
  const actor = await gateway.newActor()
  const ids: bigint[] = []
  for (const newVolumes of [[{ name: 'data', sizeGb: 13, mountPath: '/data' }], []]) {
    await listMachines(gateway.operations, [{}])
    const [offer] = await gateway.sql('SELECT max(id) AS id FROM offers')
    const launch = { targetState: 'stopped' as const, newVolumes }
    ids.push((await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch })).id)
  }
  const [[disk], [volume]] = await Promise.all([
    gateway.sql('SELECT disk_nanos FROM instances WHERE id = $1', [String(ids[0])]),
    gateway.sql('SELECT disk_nanos FROM volumes WHERE account_id = $1', [actor.accountId]),
  ])
  const costing = (row: Record<string, unknown> | undefined) =>
    createModelMeter(BigInt(row?.['disk_nanos'] as string), start)
  const disks = ids.map(() => costing(disk))
  return {
    actor,
    ids,
    lost: new Set(),
    gpu: ids.map(() => createModelMeter(0n, start)),
    disks,
    volume: costing(volume),
  }
}

/** The instant at which the machine of a lost instance was last seen. */
const seenAt = (at: Date) => new Date(Math.max(start + 1, at.getTime() - 5 * hour))

type CommandKind = Command['does']
/** Performs each command in the database, with the account locked. */
const applyToDatabase: Record<
  CommandKind,
  (tx: Transaction, account: AccountBalance, id: bigint, rate: bigint) => Promise<unknown>
> = {
  post: (tx, account) => chargeMeters(tx, account, sql`true`),
  start: startGpuMeter,
  stop: (tx, account, id) => stopMeters(tx, account, gpuMetersSql([id])),
  rate: changeRate,
  outbid: async () => {},
  async lose(tx, account, id) {
    await stopMeters(tx, account, instanceMetersSql([id]), seenAt(account.at))
    await refundAfter(tx, account, instanceMetersSql([id]), seenAt(account.at), 'a test')
  },
}

/** Performs each command in the model. */
const applyToModel: Record<CommandKind, (renter: Renter, which: number, at: number, rateNanos: bigint) => void> = {
  post({ gpu, disks, volume }, _which, at) {
    for (const one of [...gpu, ...disks, volume]) chargeUpTo(one, at)
  },
  start({ gpu }, which, at, rateNanos) {
    const one = gpu[which] as ModelMeter
    chargeUpTo(one, at)
    const since = Math.max(at, one.periods.at(-1)?.end ?? at)
    one.open ??= { rateNanos, since, end: Number.POSITIVE_INFINITY }
  },
  stop({ gpu }, which, at) {
    const one = gpu[which] as ModelMeter
    chargeUpTo(one, at)
    one.open = null
  },
  rate({ gpu }, which, at, rateNanos) {
    const one = gpu[which] as ModelMeter
    chargeUpTo(one, at)
    if (one.open) one.open.rateNanos = rateNanos
  },
  outbid({ gpu }, which, at) {
    const { open } = gpu[which] as ModelMeter
    if (open) open.end = Math.min(open.end, at)
  },
  lose(renter, which, at) {
    renter.lost.add(which)
    for (const one of [renter.gpu[which], renter.disks[which]])
      discardAfter(one as ModelMeter, seenAt(new Date(at)).getTime())
  },
}

async function run(renter: Renter, { does, which, waits, rateNanos }: Command): Promise<void> {
  const id = renter.ids[which] as bigint
  now += waits
  const requestedAt = new Date(now)
  if (does !== 'post' && renter.lost.has(which)) return
  if (does === 'outbid') {
    // An outbid does not lock the account.
    await transaction(gateway.database, tx => endGpuMeter(tx, [id], requestedAt))
    return applyToModel[does](renter, which, now, rateNanos)
  }
  await gateway.sql('UPDATE instances SET gpu_price_nanos = $1 WHERE id = $2', [String(rateNanos), String(id)])
  const at = await transaction(gateway.database, async tx => {
    const account = await lockAccount(tx, renter.actor.accountId, requestedAt)
    await applyToDatabase[does](tx, account, id, rateNanos)
    return account.at.getTime()
  })
  applyToModel[does](renter, which, at, rateNanos)
}

it(
  'agrees with a model of rates and times, and with the ledger, for any period',
  async () => {
    const histories = fc.array(commands, { minLength: 3, maxLength: 14 })
    const property = fc.asyncProperty(
      histories,
      fc.array(usageQueries, { minLength: 3, maxLength: 3 }),
      async (all, queries) => {
        const renter = await newRenter()
        for (const command of all) await run(renter, command)
        const { actor, ids } = renter
        const { billing, accounts } = gateway.services
        const at = (await accounts.creditStatus(actor)).at.getTime()

        for (const { from, length, bucket } of queries) {
          const period = { startsAt: new Date(start + from), endsAt: new Date(start + from + length) }
          const usage = await billing.usage(actor, { ...period, bucket, groupBy: ['kind', 'instance'] })
          const between = (costing: ModelMeter, { startsAt, endsAt }: { startsAt: Date; endsAt: Date }) =>
            costBetween(costing, startsAt.getTime(), endsAt.getTime(), at)
          for (const span of usage.buckets) {
            const named = ids.flatMap((instanceId, index) => [
              {
                kind: 'gpu',
                instanceId,
                volume: false,
                costNanos: between(renter.gpu[index] as ModelMeter, span),
              },
              { kind: 'disk', instanceId, volume: false, costNanos: between(renter.disks[index] as ModelMeter, span) },
            ])
            const volume = { kind: 'disk', instanceId: null, volume: true, costNanos: between(renter.volume, span) }
            const expected = [...named, volume].filter(({ costNanos }) => costNanos > 0n)
            const actual = span.groups.map(({ kind, instanceId, volumeId, costNanos }) => {
              return { kind, instanceId, volume: volumeId !== null, costNanos }
            })
            const order = (group: object) =>
              JSON.stringify(group, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
            expect(actual.map(order).toSorted()).toEqual(expected.map(order).toSorted())
          }
          const whole = await billing.usage(actor, { ...period, bucket: 'month', groupBy: [] })
          const sum = usage.buckets.reduce((total, { costNanos }) => total + costNanos, 0n)
          expect([usage.costNanos, sum]).toEqual([whole.costNanos, whole.costNanos])
        }

        const ever = { startsAt: new Date(start - day), endsAt: new Date(at + 1), bucket: 'month' as const }
        const [{ costNanos }, perInstance] = [
          await billing.usage(actor, { ...ever, groupBy: [] }),
          (await billing.usage(actor, { ...ever, groupBy: ['instance'] })).buckets.flatMap(({ groups }) => groups),
        ]
        const costs = await billing.costs(actor, ids)
        for (const { id, accruedNanos } of costs) {
          const groups = perInstance.filter(({ instanceId }) => instanceId === id)
          expect(accruedNanos).toBe(groups.reduce((total, group) => total + group.costNanos, 0n))
        }
        await transaction(gateway.database, async tx => {
          await chargeMeters(tx, await lockAccount(tx, actor.accountId, new Date(at)), sql`true`)
        })
        const [posted] = await gateway.sql(
          "SELECT coalesce(-sum(amount_nanos), 0)::bigint AS sum FROM ledger_entries WHERE account_id = $1 AND kind <> 'top_up'",
          [actor.accountId],
        )
        expect(String(costNanos)).toBe(posted?.['sum'])
        expect((await billing.usage(actor, { ...ever, groupBy: [] })).costNanos).toBe(costNanos)
      },
    )
    await fc.assert(property, {
      seed,
      numRuns,
      endOnFailure: true,
      examples: [[skewed, [{ from: 0, length: day, bucket: 'hour' }]]],
    })
  },
  2_000 * numRuns,
)
