import { Prisma } from '../database/generated/client.ts'
import { snapshot, type Transaction } from '../database/transaction.ts'
import type { Actor } from '../domain/actor.ts'
import { standingOf } from '../domain/billing.ts'
import {
  type ChargeItem,
  type ChargesPage,
  type ChargesWish,
  checkCharges,
  maxChargedThings,
  type Period,
  parseChargesCursor,
  printChargesCursor,
  type ThingCharges,
} from '../domain/billing-charges.ts'
import { authorise } from './authorise.ts'
import { readBalance } from './billing-balance.ts'
import { chargedPeriods, costUntil } from './billing-periods.ts'
import type { DataDeps } from './deps.ts'

const { sql, join } = Prisma

type Thing = { meterId: bigint; instanceId: bigint | null; volumeId: bigint | null }
type Account = Parameters<typeof chargedPeriods>[0]

export function chargeServices({ database, now }: DataDeps) {
  return {
    /** What instances and volumes of the account cost in a period, as the usage says it. */
    async charges(
      actor: Actor,
      { from, to, things, latestFirst, limit: asked, after }: ChargesWish,
    ): Promise<ChargesPage> {
      authorise(actor, 'billing.usage')
      checkCharges({ from, to })
      const limit = Math.min(asked, maxChargedThings)
      const cursor = after === undefined ? undefined : parseChargesCursor(after, latestFirst)
      const period = { from, to }
      return await snapshot(database.pool, async tx => {
        const balance = await readBalance(tx, actor.accountId, now())
        const account = { ...balance, endsAt: standingOf(balance).endsAt }
        const conditions = charged(account, period, things)
        const found = await findThings(tx, conditions, { cursor, latestFirst, limit: limit + 1 })
        const page = found.slice(0, limit)
        const last = page.at(-1)
        const [row] = await tx.rows(sql`SELECT count(*)::int FROM meters d WHERE ${join(conditions, ' AND ')}`)
        return {
          charges: await withCosts(tx, account, period, page),
          next: last && found.length > limit ? printChargesCursor(last.meterId, latestFirst) : null,
          total: row?.[0] as number,
        }
      })
    },
  }
}

/** Meters `d` of the disks of those things that cost something in the period. */
function charged(account: Account, period: Period, things: ChargesWish['things']): Prisma.Sql[] {
  const columns = { instance: sql`d.instance_id`, volume: sql`d.volume_id` }
  const ofOne = sql`(m.id = d.id OR m.instance_id = d.instance_id)`
  return [
    sql`d.account_id = ${account.accountId} AND d.kind = 'disk'`,
    things.length > 0 ? sql`num_nonnulls(${join(things.map(thing => columns[thing]))}) > 0` : sql`false`,
    sql`EXISTS (SELECT FROM (${chargedPeriods(account, period, ofOne)}) AS periods WHERE ${isWithin(period)})`,
  ]
}

function isWithin({ from, to }: Period): Prisma.Sql {
  return sql`period_start < period_end AND period_start < ${to}::timestamptz AND period_end > ${from}::timestamptz`
}

async function findThings(
  tx: Pick<Transaction, 'rows'>,
  conditions: Prisma.Sql[],
  { cursor, latestFirst, limit }: { cursor: bigint | undefined; latestFirst: boolean; limit: number },
): Promise<Thing[]> {
  const [beyond, order] = latestFirst ? [sql`<`, sql`d.id DESC`] : [sql`>`, sql`d.id`]
  const wanted = cursor === undefined ? conditions : [...conditions, sql`d.id ${beyond} ${String(cursor)}::bigint`]
  const rows = await tx.rows(sql`
    SELECT d.id, d.instance_id, d.volume_id FROM meters d
    WHERE ${join(wanted, ' AND ')} ORDER BY ${order} LIMIT ${limit}`)
  return rows.map(([meterId, instanceId, volumeId]) => ({ meterId, instanceId, volumeId }) as Thing)
}

async function withCosts(
  tx: Pick<Transaction, 'rows'>,
  account: Account,
  period: Period,
  things: Thing[],
): Promise<ThingCharges[]> {
  if (things.length === 0) return []
  const meterIds = things.map(({ meterId }) => String(meterId))
  const instanceIds = things.flatMap(({ instanceId }) => (instanceId === null ? [] : [String(instanceId)]))
  const ofThese = sql`(m.id = ANY(${meterIds}::bigint[]) OR m.instance_id = ANY(${instanceIds}::bigint[]))`
  const [start, end] = [
    sql`greatest(period_start, ${period.from}::timestamptz)`,
    sql`least(period_end, ${period.to}::timestamptz)`,
  ]
  const rows = await tx.rows(sql`
    SELECT instance_id, volume_id, kind, min(${start}), max(${end}), sum(${costUntil(end)} - ${costUntil(start)})::bigint
    FROM (${chargedPeriods(account, period, ofThese)}) AS periods WHERE ${isWithin(period)}
    GROUP BY instance_id, volume_id, kind ORDER BY kind`)
  const items = Map.groupBy(rows, ([instanceId, volumeId]) =>
    keyOf(instanceId as bigint | null, volumeId as bigint | null),
  )
  return things.map(({ instanceId, volumeId }) => ({
    instanceId,
    volumeId,
    items: (items.get(keyOf(instanceId, volumeId)) ?? []).map(
      ([, , kind, from, to, costNanos]) => ({ kind, start: from, end: to, costNanos }) as ChargeItem,
    ),
  }))
}

function keyOf(instanceId: bigint | null, volumeId: bigint | null): string {
  return `${instanceId} ${volumeId}`
}
