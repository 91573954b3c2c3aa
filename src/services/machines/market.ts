import { Prisma } from '../../database/generated/client.ts'
import { bool, int4, int8, timestamptz } from '../../database/row-types.ts'
import { columnsSql } from '../../database/rows.ts'
import type { Statements } from '../../database/statements.ts'
import { readOf, readTogether, writeTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { MarketMachine } from '../../domain/machines/machines.ts'
import { type Claim, selectGranted } from '../../domain/machines/market.ts'
import { gpuMeterEndWrites } from '../billing/meters.ts'
import { eventWrites, notifyOfEvents } from '../events/events.ts'
import { holdsGpusSql, wantsGpusSql } from '../instances/sql.ts'
import {
  grantChanges,
  grantEvent,
  holderWrites,
  type Market,
  makeDue,
  notifyOfOffers,
  offerWrites,
} from './market-writes.ts'

const currentOfferRow = {
  ...{ id: int8, machineId: int4, firstGpu: int4, numGpus: int4, gpuPriceNanos: int8, minBidNanos: int8 },
  ...{ bidPriceNanos: int8, rentable: bool, leads: bool, leadsBids: bool },
}
const claimRow = {
  ...{ instanceId: int8, machineId: int4, firstGpu: int4, numGpus: int4, interruptible: bool, gpuPriceNanos: int8 },
  ...{ claimedAt: timestamptz, holdsGpus: bool },
}

/**
 * Adds free capacity to a machine or, with negative amounts, takes free capacity. The machine must be locked. Returns
 * the machine with its new free capacity.
 */
export async function changeFreeCapacity(
  tx: Transaction,
  machine: MarketMachine,
  { diskMb, ports = 0 }: { diskMb: number; ports?: number },
): Promise<MarketMachine> {
  const machineAfter = { ...machine, freeDiskMb: machine.freeDiskMb + diskMb, freePorts: machine.freePorts + ports }
  await writeTogether(tx, capacityWrites([machineAfter]))
  return machineAfter
}

/** Writes the free capacity of locked machines, for `writeTogether`. */
export function capacityWrites(machines: readonly MarketMachine[]) {
  const of = <Value>(value: (machine: MarketMachine) => Value) => machines.map(value)
  return {
    capacity: Prisma.sql`
      UPDATE machines SET free_disk_mb = free.disk_mb, free_ports = free.ports FROM unnest(
        ${of(({ id }) => id)}::int[], ${of(({ freeDiskMb }) => freeDiskMb)}::int[], ${of(({ freePorts }) => freePorts)}::int[]
      ) AS free(id, disk_mb, ports) WHERE machines.id = free.id RETURNING 1`,
  }
}

/**
 * Recomputes a machine's grants and offers, and returns the granted claims. The machine must be locked. Idempotent: it
 * writes only changes.
 */
export async function updateMarket(tx: Transaction, machine: MarketMachine, at: Date): Promise<Claim[]> {
  const [market] = await updateMarketsOf(tx, [machine], at)
  return market?.granted ?? []
}

/**
 * Like `updateMarket` for several locked machines, with the same number of statements. `due` are instances that this transaction
 * has made due already, with their accounts.
 */
export async function updateMarketsOf(
  tx: Transaction,
  machines: readonly MarketMachine[],
  at: Date,
  due: ReadonlyMap<bigint, number> = new Map(),
): Promise<Market[]> {
  if (machines.length === 0) return []
  const markets = (await loadMarkets(tx, machines)).map(market => ({
    ...market,
    granted: selectGranted(market.claims),
  }))
  const changes = markets.flatMap(grantChanges)
  const others = changes.filter(({ claim }) => !due.has(claim.instanceId))
  const accounts = new Map([...due, ...(await makeDue(tx, others, at))])
  const losers = changes.filter(({ claim }) => claim.holdsGpus).map(({ claim }) => claim.instanceId)
  const events = changes.map(change => grantEvent(change, accounts.get(change.claim.instanceId) as number))
  const written = await writeTogether(
    tx,
    holderWrites(markets),
    gpuMeterEndWrites(losers, at),
    eventWrites(events, at),
    offerWrites(markets, at),
  )
  notifyOfEvents(tx, written)
  notifyOfOffers(tx, written)
  if (written['meterEnds']) tx.notifyAfterCommit('billing')
  return markets
}

/** Recomputes a machine's offers when its claims have not changed. The machine must be locked. */
export async function updateOffers(tx: Transaction, machine: MarketMachine, at: Date): Promise<void> {
  const markets = (await loadMarkets(tx, [machine])).map(market => {
    return { ...market, granted: market.claims.filter(({ holdsGpus }) => holdsGpus) }
  })
  notifyOfOffers(tx, await writeTogether(tx, offerWrites(markets, at)))
}

async function loadMarkets(tx: Transaction, machines: readonly MarketMachine[]): Promise<Omit<Market, 'granted'>[]> {
  const { claims, offers } = await readTogether(tx, marketReads(machines.map(({ id }) => id)))
  const claimsByMachine = Map.groupBy(claims, ({ machineId }) => machineId)
  const offersByMachine = Map.groupBy(offers, ({ machineId }) => machineId)
  return machines.map(machine => {
    const [ownClaims = [], ownOffers = []] = [claimsByMachine.get(machine.id), offersByMachine.get(machine.id)]
    return { machine, claims: ownClaims, offers: ownOffers }
  })
}

/** The claims of all instances that want GPUs of these machines now, and the machines' current offers. */
export function marketReads(machineIds: readonly number[]) {
  const offers = Prisma.sql`
    SELECT ${columnsSql('o', currentOfferRow)} FROM offers o
    WHERE o.machine_id = ANY(${machineIds}::int[]) AND o.withdrawn_at IS NULL`
  return { claims: readOf(claimsSql(machineIds), claimRow), offers: readOf(offers, currentOfferRow) }
}

/** The claims of all instances that want GPUs of these machines now. */
export async function loadClaims(
  database: Pick<Statements, 'query'>,
  machineIds: readonly number[],
): Promise<(Claim & { machineId: number })[]> {
  return await database.query(claimsSql(machineIds), claimRow)
}

function claimsSql(machineIds: readonly number[]): Prisma.Sql {
  return Prisma.sql`
    SELECT i.id AS instance_id, i.machine_id, i.first_gpu, i.num_gpus, i.interruptible, i.gpu_price_nanos, i.claimed_at,
      ${holdsGpusSql} AS holds_gpus
    FROM instances i WHERE i.machine_id = ANY(${machineIds}::int[]) AND ${wantsGpusSql}`
}
