// The writes that bring the GPUs and offers of locked machines in line with their claims. `writeTogether` runs them in one
// statement.

import { Prisma } from '../../database/generated/client.ts'
import { int4, int8 } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import { systemActor } from '../../domain/events/actor.ts'
import type { MarketMachine } from '../../domain/machines/machines.ts'
import { type Claim, type CurrentOffer, calculateMinimumBid, planOffers } from '../../domain/machines/market.ts'
import type { NewEvent } from '../events/events.ts'
import { makeDueSql } from '../reconciliation/due.ts'

const { sql } = Prisma

/** A machine's claims, those that get their GPUs, and its current offers. */
export type Market = { machine: MarketMachine; claims: Claim[]; granted: Claim[]; offers: CurrentOffer[] }
/** A claim that won or lost its GPUs. */
export type GrantChange = Pick<Market, 'machine' | 'claims'> & { claim: Claim }
type Writes = Record<string, Prisma.Sql>

const offerColumns = modelColumnsOf(Prisma.OfferScalarFieldEnum)

export function grantChanges({ machine, claims, granted }: Market): GrantChange[] {
  const changed = claims.filter(claim => claim.holdsGpus !== granted.includes(claim))
  return changed.map(claim => ({ machine, claims, claim }))
}

/**
 * Makes the instances of changed claims due, and returns their accounts by instance id. Locks the instances in id order,
 * before the update of `gpus` locks them through foreign keys in any order.
 */
export async function makeDue(
  tx: Transaction,
  changes: readonly GrantChange[],
  at: Date,
): Promise<Map<bigint, number>> {
  if (changes.length === 0) return new Map()
  const statement = sql`
    WITH locked AS MATERIALIZED (
      SELECT id FROM instances WHERE id = ANY(${changes.map(({ claim }) => String(claim.instanceId))}::bigint[])
      ORDER BY id FOR NO KEY UPDATE
    ) ${makeDueSql(sql`SELECT id FROM locked`, at)} RETURNING instance_id, account_id`
  const renters = await tx.query(statement, { instanceId: int8, accountId: int4 })
  tx.notifyAfterCommit('instances')
  return new Map(renters.map(({ instanceId, accountId }) => [instanceId, accountId]))
}

/** Each GPU gets the holder that its market grants it to. */
export function holderWrites(markets: readonly Pick<Market, 'machine' | 'granted'>[]): Writes {
  const wanted = markets.flatMap(({ machine, granted }) => {
    const holders: (string | null)[] = Array(machine.numGpus).fill(null)
    for (const { instanceId, firstGpu, numGpus } of granted)
      holders.fill(String(instanceId), firstGpu, firstGpu + numGpus)
    return holders.map((holderId, index) => ({ machineId: machine.id, index, holderId }))
  })
  const of = <Value>(value: (gpu: (typeof wanted)[number]) => Value) => wanted.map(value)
  return {
    holders: sql`
      UPDATE gpus SET holder_id = wanted.holder_id FROM unnest(
        ${of(({ machineId }) => machineId)}::int[], ${of(({ index }) => index)}::int[], ${of(({ holderId }) => holderId)}::bigint[]
      ) AS wanted(machine_id, index, holder_id)
      WHERE gpus.machine_id = wanted.machine_id AND gpus.index = wanted.index
      AND gpus.holder_id IS DISTINCT FROM wanted.holder_id RETURNING 1`,
  }
}

export function grantEvent({ claim, machine, claims }: GrantChange, accountId: number): NewEvent {
  const about = { actor: systemActor, instanceId: claim.instanceId, accountId }
  const [before, after] = [{ granted: claim.holdsGpus }, { granted: !claim.holdsGpus }]
  if (!claim.holdsGpus) return { ...about, kind: 'INSTANCE_GRANTED', before, after, reason: 'GPUS_FREE' }
  const minimum = calculateMinimumBid(claim, machine, claims)
  const outbid = { ...about, kind: 'INSTANCE_OUTBID' as const, before }
  if (minimum === undefined) return { ...outbid, after, reason: 'ON_DEMAND' }
  return { ...outbid, after: { ...after, minimumBidNanos: String(minimum) }, reason: 'OUTBID' }
}

/** Offers that change, and offers of blocks that became free. */
export function offerWrites(markets: readonly Omit<Market, 'claims'>[], at: Date): Writes {
  const plans = markets.map(({ machine, granted, offers }) => ({ machine, ...planOffers(machine, offers, granted) }))
  const changed = plans.flatMap(plan => plan.changed)
  const added = plans.flatMap(plan => offerRowsOf(plan.machine, plan.added, at))
  return {
    ...(changed.length > 0 && { changedOffers: sql`${changeOffersSql(changed)} RETURNING 1` }),
    ...(added.length > 0 && { newOffers: sql`${insertSql('offers', offerColumns, added)} RETURNING 1` }),
  }
}

/** Streams of offers have no events: they read which offers changed. */
export function notifyOfOffers(tx: Transaction, written: Record<string, number>): void {
  if (written['changedOffers'] || written['newOffers']) tx.notifyAfterCommit('events')
}

/**
 * Rows of new offers. They copy the few facts of the machine that the search indexes contain. A search reads all other
 * facts from the machine.
 */
export function offerRowsOf(machine: MarketMachine, added: ReturnType<typeof planOffers>['added'], listedAt: Date) {
  const { id, gpuModelId, country, verification, reliability, listedUntil, diskPricePerGbMonthNanos } = machine
  const verified = verification === 'verified'
  const facts = {
    machineId: id,
    gpuModelId,
    country,
    verified,
    reliability,
    listedUntil,
    diskPricePerGbMonthNanos,
    listedAt,
  }
  return added.map(offer => ({ ...facts, ...offer }))
}

function changeOffersSql(offers: CurrentOffer[]): Prisma.Sql {
  const of = <Value>(value: (offer: CurrentOffer) => Value) => offers.map(value)
  return sql`
    UPDATE offers SET rentable = changed.rentable, min_bid_nanos = changed.min_bid_nanos,
      bid_price_nanos = changed.bid_price_nanos, leads = changed.leads, leads_bids = changed.leads_bids
    FROM unnest(
      ${of(({ id }) => String(id))}::bigint[], ${of(({ rentable }) => rentable)}::boolean[],
      ${of(({ minBidNanos }) => String(minBidNanos))}::bigint[], ${of(({ bidPriceNanos }) => String(bidPriceNanos))}::bigint[],
      ${of(({ leads }) => leads)}::boolean[], ${of(({ leadsBids }) => leadsBids)}::boolean[]
    ) AS changed(id, rentable, min_bid_nanos, bid_price_nanos, leads, leads_bids) WHERE offers.id = changed.id`
}
