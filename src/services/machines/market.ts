import { Prisma } from '../../database/generated/client.ts'
import { bool, enumeration, float8, int4, int8, nullable, text, timestamptz } from '../../database/row-types.ts'
import { columnsSql, insertSql, modelColumnsOf } from '../../database/rows.ts'
import type { Statements } from '../../database/statements.ts'
import type { Transaction } from '../../database/transaction.ts'
import { systemActor } from '../../domain/events/actor.ts'
import type { Machine, Verification } from '../../domain/machines/machines.ts'
import {
  type Claim,
  type CurrentOffer,
  calculateMinimumBid,
  planOffers,
  selectGranted,
} from '../../domain/machines/market.ts'
import { endGpuMeter } from '../billing/meters.ts'
import { type NewEvent, recordEvents } from '../events/events.ts'
import { holdsGpusSql, wantsGpusSql } from '../instances/sql.ts'

const machineRow = {
  ...{ id: int4, hostId: int4, gpuModelId: int4, numGpus: int4, dlperfPerGpu: float8, gpuMaxTempCelsius: float8 },
  ...{ gpuDisplayActive: bool, gpuLanes: int4, nvlinkGigabytesPerSecond: float8, pciGeneration: float8 },
  ...{ pcieGigabytesPerSecond: float8, cudaVersion: nullable(text), driverVersion: text, cpuName: text, cpuArch: text },
  ...{ cpuCores: int4, cpuGhz: float8, cpuRamMb: int4, hasAvx: bool, motherboard: text, osVersion: nullable(text) },
  ...{ diskName: text, diskReadMegabytesPerSecond: float8, diskMb: int4, freeDiskMb: int4, downloadMbps: float8 },
  ...{ uploadMbps: float8, publicIp: text, staticIp: bool, firstPort: int4, lastPort: int4, freePorts: int4 },
  ...{ country: text, city: text, datacenter: bool, vmsEnabled: bool, verification: enumeration<Verification>() },
  ...{ reliability: float8, gpuNanos: int8, minBidGpuNanos: int8, diskPricePerGbMonthNanos: int8 },
  ...{ downloadPricePerGbNanos: int8, uploadPricePerGbNanos: int8, listedAt: timestamptz, listedUntil: timestamptz },
  ...{ drainedAt: nullable(timestamptz), unlistedAt: nullable(timestamptz), unconfirmedAt: nullable(timestamptz) },
} satisfies Record<keyof Machine, unknown>
const lockedRow = { ...machineRow, lockedAt: timestamptz }
const currentOfferRow = {
  ...{ id: int8, machineId: int4, firstGpu: int4, numGpus: int4, gpuPriceNanos: int8, minBidNanos: int8 },
  ...{ bidPriceNanos: int8, rentable: bool, leads: bool, leadsBids: bool },
}
const claimRow = {
  ...{ instanceId: int8, machineId: int4, firstGpu: int4, numGpus: int4, interruptible: bool, gpuPriceNanos: int8 },
  ...{ claimedAt: timestamptz, holdsGpus: bool },
}
const offerColumns = modelColumnsOf(Prisma.OfferScalarFieldEnum)

/**
 * Locks a machine for the rest of the transaction. Every change of its GPUs, disk, ports or offers takes this lock
 * first, so that no decision rests on facts that another transaction is changing. Moves `tx.at` to the time of the lock,
 * which is later than every time that earlier holders wrote.
 */
export async function lockMachine(tx: Transaction, id: number): Promise<Machine | undefined> {
  // The outer query reads the clock: the locking query would read the clock before it waits for the lock.
  const statement = Prisma.sql`
    WITH locked AS MATERIALIZED (
      SELECT ${columnsSql('m', machineRow)} FROM machines m WHERE id = ${id} FOR NO KEY UPDATE
    ) SELECT locked.*, clock_timestamp() AS locked_at FROM locked`
  return (await queryLocked(tx, statement))[0]
}

/** Locks those of the machines that no other transaction has locked, without waiting for the others. */
export async function lockFreeMachines(tx: Transaction, ids: readonly number[]): Promise<Machine[]> {
  const statement = Prisma.sql`
    WITH locked AS MATERIALIZED (
      SELECT ${columnsSql('m', machineRow)} FROM machines m WHERE id = ANY(${ids}::int[])
      ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ) SELECT locked.*, clock_timestamp() AS locked_at FROM locked`
  return await queryLocked(tx, statement)
}

async function queryLocked(tx: Transaction, statement: Prisma.Sql): Promise<Machine[]> {
  const rows = await tx.query(statement, lockedRow)
  if (rows[0]) tx.advanceTo(rows[0].lockedAt)
  return rows.map(({ lockedAt: _, ...machine }) => machine)
}

/** Reads a machine without a lock, so another transaction may be changing it. */
export async function readMachine(tx: Transaction, id: number): Promise<Machine | undefined> {
  const statement = Prisma.sql`SELECT ${columnsSql('m', machineRow)} FROM machines m WHERE id = ${id}`
  const [machine] = await tx.query(statement, machineRow)
  return machine
}

/**
 * Adds free capacity to a machine or, with negative amounts, takes free capacity. The machine must be locked. Returns
 * the machine with its new free capacity.
 */
export async function changeFreeCapacity(
  tx: Transaction,
  machine: Machine,
  { diskMb, ports = 0 }: { diskMb: number; ports?: number },
): Promise<Machine> {
  const [freeDiskMb, freePorts] = [machine.freeDiskMb + diskMb, machine.freePorts + ports]
  await tx.execute(Prisma.sql`
    UPDATE machines SET free_disk_mb = ${freeDiskMb}, free_ports = ${freePorts} WHERE id = ${machine.id}`)
  return { ...machine, freeDiskMb, freePorts }
}

/**
 * Recomputes a machine's grants and offers, and returns the granted claims. The machine must be locked. Idempotent: it
 * writes only changes.
 */
export async function updateMarket(tx: Transaction, machine: Machine, at: Date): Promise<Claim[]> {
  const [market] = await updateMarketsOf(tx, [machine], at)
  return market?.granted ?? []
}

type Market = { machine: Machine; claims: Claim[]; granted: Claim[] }

/** Like `updateMarket` for several locked machines, with the same number of statements. */
export async function updateMarketsOf(tx: Transaction, machines: readonly Machine[], at: Date): Promise<Market[]> {
  if (machines.length === 0) return []
  const claimsByMachine = await loadClaimsByMachine(tx, machines)
  const markets = machines.map(machine => {
    const claims = claimsByMachine.get(machine.id) ?? []
    return { machine, claims, granted: selectGranted(claims) }
  })
  await saveGrants(tx, markets, at)
  await saveOffers(tx, markets, at)
  return markets
}

/** Recomputes a machine's offers when its claims have not changed. The machine must be locked. */
export async function updateOffers(tx: Transaction, machine: Machine, at: Date): Promise<void> {
  const claims = await loadClaims(tx, [machine.id])
  await saveOffers(tx, [{ machine, granted: claims.filter(({ holdsGpus }) => holdsGpus) }], at)
}

async function saveOffers(tx: Transaction, markets: Omit<Market, 'claims'>[], at: Date): Promise<void> {
  const current = await loadCurrentOffers(
    tx,
    markets.map(({ machine }) => machine.id),
  )
  const plans = markets.map(({ machine, granted }) => {
    return { machine, ...planOffers(machine, current.get(machine.id) ?? [], granted) }
  })
  const changed = plans.flatMap(plan => plan.changed)
  const added = plans.flatMap(plan => offerRowsOf(plan.machine, plan.added, at))
  if (changed.length > 0) await saveChangedOffers(tx, changed)
  if (added.length > 0) await tx.execute(insertSql('offers', offerColumns, added))
}

/**
 * Rows of new offers. They copy the few facts of the machine that the search indexes contain. A search reads all other
 * facts from the machine.
 */
export function offerRowsOf(machine: Machine, added: ReturnType<typeof planOffers>['added'], listedAt: Date) {
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

/** The claims of all instances that want GPUs of these machines now. */
export async function loadClaims(
  database: Pick<Statements, 'query'>,
  machineIds: readonly number[],
): Promise<(Claim & { machineId: number })[]> {
  const statement = Prisma.sql`
    SELECT i.id AS instance_id, i.machine_id, i.first_gpu, i.num_gpus, i.interruptible, i.gpu_price_nanos, i.claimed_at,
      ${holdsGpusSql} AS holds_gpus
    FROM instances i WHERE i.machine_id = ANY(${machineIds}::int[]) AND ${wantsGpusSql}`
  return await database.query(statement, claimRow)
}

/**
 * Writes the holder of each GPU. Instances that won or lost their GPUs become due and get an event. The GPU charges of
 * those that lost them end.
 */
async function saveGrants(tx: Transaction, markets: Market[], at: Date): Promise<void> {
  const changes = markets.flatMap(({ machine, claims, granted }) => {
    const changed = claims.filter(claim => claim.holdsGpus !== granted.includes(claim))
    return changed.map(claim => ({ claim, machine, claims }))
  })
  const changed = changes.map(({ claim }) => claim)
  // Locks instances in id order, before the update of `gpus` locks them through foreign keys in any order.
  const renters = changed.length > 0 ? await tx.query(makeDueSql(changed, at), { id: int8, accountId: int4 }) : []
  const machineIds = markets.map(({ machine }) => machine.id)
  const holders = markets.flatMap(({ machine, granted }) =>
    granted.flatMap(({ instanceId, firstGpu, numGpus }) =>
      Array.from({ length: numGpus }, (_, index) => [machine.id, firstGpu + index, String(instanceId)] as const),
    ),
  )
  await tx.execute(Prisma.sql`
    UPDATE gpus SET holder_id = wanted.holder_id
    FROM gpus AS old LEFT JOIN unnest(${holders.map(([machineId]) => machineId)}::int[], ${holders.map(([, index]) => index)}::int[],
      ${holders.map(([, , instanceId]) => instanceId)}::bigint[]) AS wanted(machine_id, index, holder_id)
      ON wanted.machine_id = old.machine_id AND wanted.index = old.index
    WHERE old.machine_id = ANY(${machineIds}::int[]) AND gpus.machine_id = ANY(${machineIds}::int[])
    AND gpus.machine_id = old.machine_id AND gpus.index = old.index
    AND old.holder_id IS DISTINCT FROM wanted.holder_id`)
  const lost = changed.filter(({ holdsGpus }) => holdsGpus).map(({ instanceId }) => instanceId)
  await endGpuMeter(tx, lost, at)
  const accounts = new Map(renters.map(({ id, accountId }) => [id, accountId]))
  const events = changes.map(({ claim, machine, claims }): NewEvent => {
    const about = {
      actor: systemActor,
      instanceId: claim.instanceId,
      accountId: accounts.get(claim.instanceId) as number,
    }
    const [before, after] = [{ granted: claim.holdsGpus }, { granted: !claim.holdsGpus }]
    if (!claim.holdsGpus) return { ...about, kind: 'INSTANCE_GRANTED', before, after, reason: 'GPUS_FREE' }
    const minimum = calculateMinimumBid(claim, machine, claims)
    const outbid = { ...about, kind: 'INSTANCE_OUTBID' as const, before }
    if (minimum === undefined) return { ...outbid, after, reason: 'ON_DEMAND' }
    return { ...outbid, after: { ...after, minimumBidNanos: String(minimum) }, reason: 'OUTBID' }
  })
  await recordEvents(tx, events, at)
}

function makeDueSql(changed: Claim[], at: Date): Prisma.Sql {
  return Prisma.sql`
    UPDATE instances SET generation = generation + 1, due_at = ${at} WHERE id IN (
      SELECT id FROM instances WHERE id = ANY(${changed.map(({ instanceId }) => String(instanceId))}::bigint[]) ORDER BY id FOR NO KEY UPDATE
    ) RETURNING id, account_id`
}

async function loadCurrentOffers(tx: Transaction, machineIds: readonly number[]): Promise<Map<number, CurrentOffer[]>> {
  const statement = Prisma.sql`
    SELECT ${columnsSql('o', currentOfferRow)} FROM offers o
    WHERE o.machine_id = ANY(${machineIds}::int[]) AND o.withdrawn_at IS NULL`
  const offers = await tx.query(statement, currentOfferRow)
  return Map.groupBy(offers, ({ machineId }) => machineId)
}

async function loadClaimsByMachine(tx: Transaction, machines: readonly Machine[]): Promise<Map<number, Claim[]>> {
  const claims = await loadClaims(
    tx,
    machines.map(({ id }) => id),
  )
  return Map.groupBy(claims, ({ machineId }) => machineId)
}

async function saveChangedOffers(tx: Transaction, offers: CurrentOffer[]): Promise<void> {
  const of = <Value>(value: (offer: CurrentOffer) => Value) => offers.map(value)
  await tx.execute(Prisma.sql`
    UPDATE offers SET rentable = changed.rentable, min_bid_nanos = changed.min_bid_nanos,
      bid_price_nanos = changed.bid_price_nanos, leads = changed.leads, leads_bids = changed.leads_bids
    FROM unnest(
      ${of(({ id }) => String(id))}::bigint[], ${of(({ rentable }) => rentable)}::boolean[],
      ${of(({ minBidNanos }) => String(minBidNanos))}::bigint[], ${of(({ bidPriceNanos }) => String(bidPriceNanos))}::bigint[],
      ${of(({ leads }) => leads)}::boolean[], ${of(({ leadsBids }) => leadsBids)}::boolean[]
    ) AS changed(id, rentable, min_bid_nanos, bid_price_nanos, leads, leads_bids) WHERE offers.id = changed.id`)
}
