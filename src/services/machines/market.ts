import { Prisma } from '../../database/generated/client.ts'
import { bool, enumeration, float8, int4, int8, nullable, text, timestamptz } from '../../database/row-types.ts'
import { columnsSql } from '../../database/rows.ts'
import type { Statements } from '../../database/statements.ts'
import { type Read, readOf, readTogether, writeTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Machine, Verification } from '../../domain/machines/machines.ts'
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

/** `lockMachine` for the machine of an offer; undefined, without a lock, if the offer cannot be rented. */
export async function lockMachineOfOffer(tx: Transaction, offerId: bigint): Promise<Machine | undefined> {
  const statement = Prisma.sql`
    WITH locked AS MATERIALIZED (
      SELECT ${columnsSql('m', machineRow)} FROM machines m
      WHERE id = (SELECT machine_id FROM offers WHERE id = ${offerId} AND withdrawn_at IS NULL AND rentable) FOR NO KEY UPDATE
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
  // The clock is read for each row once it is locked.
  const last = rows.at(-1)
  if (last) tx.advanceTo(last.lockedAt)
  return rows.map(({ lockedAt: _, ...machine }) => machine)
}

/** The machine of an offer on the market, without a lock: another transaction may be changing it. */
export function machineOfOfferRead(offerId: bigint): Read<typeof machineRow> {
  const statement = Prisma.sql`
    SELECT ${columnsSql('m', machineRow)} FROM offers o JOIN machines m ON m.id = o.machine_id
    WHERE o.id = ${offerId} AND o.withdrawn_at IS NULL`
  return readOf(statement, machineRow)
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
  const machineAfter = { ...machine, freeDiskMb: machine.freeDiskMb + diskMb, freePorts: machine.freePorts + ports }
  await writeTogether(tx, capacityWrites(machineAfter))
  return machineAfter
}

/** Writes the free capacity of a locked machine, for `writeTogether`. */
export function capacityWrites({ id, freeDiskMb, freePorts }: Machine) {
  const update = Prisma.sql`UPDATE machines SET free_disk_mb = ${freeDiskMb}, free_ports = ${freePorts} WHERE id = ${id}`
  return { capacity: Prisma.sql`${update} RETURNING 1` }
}

/**
 * Recomputes a machine's grants and offers, and returns the granted claims. The machine must be locked. Idempotent: it
 * writes only changes.
 */
export async function updateMarket(tx: Transaction, machine: Machine, at: Date): Promise<Claim[]> {
  const [market] = await updateMarketsOf(tx, [machine], at)
  return market?.granted ?? []
}

/** Like `updateMarket` for several locked machines, with the same number of statements. */
export async function updateMarketsOf(tx: Transaction, machines: readonly Machine[], at: Date): Promise<Market[]> {
  if (machines.length === 0) return []
  const markets = (await loadMarkets(tx, machines)).map(market => ({
    ...market,
    granted: selectGranted(market.claims),
  }))
  const changes = markets.flatMap(grantChanges)
  const accounts = await makeDue(tx, changes, at)
  const losers = changes.filter(({ claim }) => claim.holdsGpus).map(({ claim }) => claim.instanceId)
  const events = changes.map(change => grantEvent(change, accounts.get(change.claim.instanceId) as number))
  const written = await writeTogether(tx, {
    ...holderWrites(markets),
    ...gpuMeterEndWrites(losers, at),
    ...eventWrites(events, at),
    ...offerWrites(markets, at),
  })
  notifyOfEvents(tx, written)
  notifyOfOffers(tx, written)
  if (written['meterEnds']) tx.notifyAfterCommit('billing')
  return markets
}

/** Recomputes a machine's offers when its claims have not changed. The machine must be locked. */
export async function updateOffers(tx: Transaction, machine: Machine, at: Date): Promise<void> {
  const markets = (await loadMarkets(tx, [machine])).map(market => {
    return { ...market, granted: market.claims.filter(({ holdsGpus }) => holdsGpus) }
  })
  notifyOfOffers(tx, await writeTogether(tx, offerWrites(markets, at)))
}

async function loadMarkets(tx: Transaction, machines: readonly Machine[]): Promise<Omit<Market, 'granted'>[]> {
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
