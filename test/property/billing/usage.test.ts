import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { writeTogether } from '../../../src/database/together.ts'
import { type Transaction, transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import type { UsageGroup } from '../../../src/domain/billing/usage.ts'
import { type AccountBalance, lockAccount } from '../../../src/services/billing/balance.ts'
import {
  changeRate,
  chargeMeters,
  gpuMeterEndWrites,
  startGpuMeters,
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

const dimensions = ['kind', 'instance', 'volume', 'apiKey', 'label', 'gpuModel', 'template'] as const
const labels = fc.array(fc.constantFrom(null, 'train', 'test'), { minLength: 2, maxLength: 2 })
const usageQueries = fc.record({
  groupBy: fc.shuffledSubarray([...dimensions]),
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
  /** All meters of the model with their keys, those of the instances and the volume. */
  keyed: { keys: Record<(typeof dimensions)[number], unknown>; meter: ModelMeter }[]
}

/** Rents two instances, the first with a volume and a template, and labels both. */
async function newRenter(labels: (string | null)[]): Promise<Renter> {
  now = start
  const actor = await gateway.newActor()
  const ids: bigint[] = []
  const rentals = [
    { newVolumes: [{ name: 'data', sizeGb: 13, mountPath: '/data' }], model: {} },
    { newVolumes: [], model: { name: 'H100 SXM' } },
  ]
  for (const { newVolumes, model } of rentals) {
    await listMachines(gateway.operations, [{ model }])
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
  const [gpu, disks, ofVolume] = [
    ids.map(() => createModelMeter(0n, start)),
    ids.map(() => costing(disk)),
    costing(volume),
  ]
  const keyed = await readKeys(actor, ids, labels)
  const meters = [...gpu, ...disks, ofVolume]
  return {
    ...{ actor, ids, gpu, disks, lost: new Set(), volume: ofVolume },
    keyed: meters.map((meter, index) => ({ meter, keys: keyed[index] as (typeof keyed)[number] })),
  }
}

/** Labels the instances, gives the first a template, and returns the keys of their GPUs, their disks and the volume. */
async function readKeys({ accountId, apiKeyId }: Actor, ids: bigint[], labels: (string | null)[]) {
  await gateway.sql(
    `WITH made AS (INSERT INTO templates (account_id, name, hash_id, public, settings, created_at, updated_at)
      VALUES ($1, 'a', $2, false, '{}', now(), now()) RETURNING id)
    UPDATE instances SET template_id = made.id, template_hash = $2 FROM made WHERE instances.id = $3`,
    [accountId, String(accountId).padStart(32, '0'), String(ids[0])],
  )
  const own = []
  for (const [index, id] of ids.entries()) {
    await gateway.sql('UPDATE instances SET label = $1 WHERE id = $2', [labels[index], String(id)])
    const [row] = await gateway.sql(
      'SELECT o.gpu_model_id, i.template_id FROM instances i JOIN offers o ON o.id = i.offer_id WHERE i.id = $1',
      [String(id)],
    )
    const { gpu_model_id: gpuModel, template_id: template } = row as Record<string, number | null>
    own.push({ instance: id, volume: null, apiKey: apiKeyId, label: labels[index], gpuModel, template })
  }
  const [volume] = await gateway.sql('SELECT id FROM volumes WHERE account_id = $1', [accountId])
  const none = { instance: null, label: null, gpuModel: null, template: null }
  return [
    ...own.map(keys => ({ ...keys, kind: 'gpu' })),
    ...own.map(keys => ({ ...keys, kind: 'disk' })),
    { ...none, kind: 'disk', volume: BigInt(volume?.['id'] as string), apiKey: apiKeyId },
  ]
}

const print = (value: unknown) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part))

/** The groups of the model in a period, each printed, and sorted. */
function modelGroups(
  { keyed }: Renter,
  groupBy: readonly (typeof dimensions)[number][],
  { startsAt, endsAt }: { startsAt: Date; endsAt: Date },
  at: number,
): string[] {
  const groups = Map.groupBy(keyed, ({ keys }) =>
    print(groupBy.map(dimension => ({ dimension, value: keys[dimension] }))),
  )
  const costs = [...groups].map(([keys, meters]) => {
    const nanos = meters.map(({ meter }) => costBetween(meter, startsAt.getTime(), endsAt.getTime(), at))
    return { keys, costNanos: nanos.reduce((sum, one) => sum + one, 0n) }
  })
  return costs
    .filter(({ costNanos }) => costNanos > 0n)
    .map(({ keys, costNanos }) => `${keys} ${costNanos}`)
    .toSorted()
}

const printGroups = (groups: readonly UsageGroup[]) =>
  groups.map(({ keys, costNanos }) => `${print(keys)} ${costNanos}`).toSorted()

/** The instant at which the machine of a lost instance was last seen. */
const seenAt = (at: Date) => new Date(Math.max(start + 1, at.getTime() - 5 * hour))

type CommandKind = Command['does']
/** Performs each command in the database, with the account locked. */
const applyToDatabase: Record<
  CommandKind,
  (tx: Transaction, account: AccountBalance, id: bigint, rate: bigint) => Promise<unknown>
> = {
  post: (tx, account) => chargeMeters(tx, account, sql`true`),
  start: (tx, account, id) => startGpuMeters(tx, account, [id]),
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
    await transaction(gateway.database, tx => writeTogether(tx, gpuMeterEndWrites([id], requestedAt)))
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
      labels,
      async (all, queries, given) => {
        const renter = await newRenter(given)
        for (const command of all) await run(renter, command)
        const { actor, ids } = renter
        const { billing, accounts } = gateway.services
        const at = (await accounts.creditStatus(actor)).at.getTime()

        for (const { from, length, bucket, groupBy } of queries) {
          const period = { startsAt: new Date(start + from), endsAt: new Date(start + from + length) }
          const usage = await billing.usage(actor, { ...period, bucket, groupBy })
          for (const span of usage.buckets)
            expect(printGroups(span.groups)).toEqual(modelGroups(renter, groupBy, span, at))
          expect(printGroups(usage.totals)).toEqual(modelGroups(renter, groupBy, period, at))
          const costs = usage.totals.map(({ costNanos }) => costNanos)
          expect(costs).toEqual(costs.toSorted((one, other) => Number(other - one)))
          const whole = await billing.usage(actor, { ...period, bucket: 'month', groupBy: [] })
          const sum = (parts: { costNanos: bigint }[]) => parts.reduce((total, { costNanos }) => total + costNanos, 0n)
          expect([usage.costNanos, sum(usage.buckets), sum(usage.totals)]).toEqual(Array(3).fill(whole.costNanos))
        }

        const ever = { startsAt: new Date(start - day), endsAt: new Date(at + 1), bucket: 'month' as const }
        const [{ costNanos }, perInstance] = [
          await billing.usage(actor, { ...ever, groupBy: [] }),
          (await billing.usage(actor, { ...ever, groupBy: ['instance'] })).totals,
        ]
        const costs = await billing.costs(actor, ids)
        for (const { id, accruedNanos } of costs) {
          const group = perInstance.find(({ keys: [key] }) => key?.value === id)
          expect(accruedNanos).toBe(group?.costNanos ?? 0n)
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
      examples: [[skewed, [{ from: 0, length: day, bucket: 'hour', groupBy: ['label', 'kind'] }], ['train', 'train']]],
    })
  },
  2_000 * numRuns,
)
