// Locks machines. Every change of a machine's GPUs, disk, ports or offers takes this lock first, so that no decision rests on
// facts that another transaction is changing.

import { Prisma } from '../../database/generated/client.ts'
import {
  bool,
  enumeration,
  float8,
  int4,
  int8,
  json,
  nullable,
  type RowOf,
  type RowShape,
  text,
  timestamptz,
} from '../../database/row-types.ts'
import { columnsSql } from '../../database/rows.ts'
import { type Read, readOf } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Machine, MarketMachine, Verification } from '../../domain/machines/machines.ts'

const { sql } = Prisma

const machineRow = {
  ...{ id: int4, hostId: int4, gpuModelId: int4, numGpus: int4, dlperfPerGpu: float8, gpuMaxTempCelsius: float8 },
  ...{ gpuDisplayActive: bool, gpuLanes: int4, nvlinkGigabytesPerSecond: float8, pciGeneration: float8 },
  ...{ pcieGigabytesPerSecond: float8, cudaVersion: nullable(text), driverVersion: text, cpuName: text, cpuArch: text },
  ...{ cpuCores: int4, cpuGhz: float8, cpuRamMb: int4, hasAvx: bool, motherboard: text, osVersion: nullable(text) },
  ...{ diskName: text, diskReadMegabytesPerSecond: float8, diskMb: int4, freeDiskMb: int4, downloadMbps: float8 },
  ...{ uploadMbps: float8, publicIp: text, staticIp: bool, firstPort: int4, lastPort: int4, freePorts: int4 },
  ...{ country: text, city: text, datacenter: bool, vmsEnabled: bool, verification: enumeration<Verification>() },
  ...{ limitsDisk: bool, reliability: float8, gpuNanos: int8, minBidGpuNanos: int8, diskPricePerGbMonthNanos: int8 },
  ...{ downloadPricePerGbNanos: int8, uploadPricePerGbNanos: int8, listedAt: timestamptz, listedUntil: timestamptz },
  ...{ drainedAt: nullable(timestamptz), unlistedAt: nullable(timestamptz), unconfirmedAt: nullable(timestamptz) },
} satisfies Record<keyof Machine, unknown>
const marketRow = {
  ...{
    id: int4,
    gpuModelId: int4,
    numGpus: int4,
    dlperfPerGpu: float8,
    freeDiskMb: int4,
    freePorts: int4,
    country: text,
  },
  ...{ verification: enumeration<Verification>(), reliability: float8, gpuNanos: int8, minBidGpuNanos: int8 },
  ...{ diskPricePerGbMonthNanos: int8, listedUntil: timestamptz, drainedAt: nullable(timestamptz) },
  unconfirmedAt: nullable(timestamptz),
} satisfies Record<keyof MarketMachine, unknown>

/**
 * Locks a machine for the rest of the transaction. Moves `tx.at` to the time of the lock, which is later than every time that
 * earlier holders wrote.
 */
export async function lockMachine(tx: Transaction, id: number): Promise<Machine | undefined> {
  return (await lockRows(tx, machineRow, sql`id = ${id} FOR NO KEY UPDATE`))[0]
}

/** `lockMachine` for the machine of an offer; undefined, without a lock, if the offer cannot be rented. */
export async function lockMachineOfOffer(tx: Transaction, offerId: bigint): Promise<Machine | undefined> {
  return (await lockRows(tx, machineRow, sql`id = ANY(${machinesOfOffersSql([offerId])}) FOR NO KEY UPDATE`))[0]
}

/**
 * Locks the machines of those offers that can be rented and, if there are any, the accounts that rent them, without waiting for
 * those that another transaction has locked.
 */
export async function lockFreeMachinesOfOffers(
  tx: Transaction,
  offerIds: readonly bigint[],
  accountIds: readonly number[],
): Promise<{ machines: Machine[]; accountIds: ReadonlySet<number> }> {
  const which = sql`id = ANY(${machinesOfOffersSql(offerIds)}) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`
  const freeAccounts = sql`
    SELECT id FROM accounts WHERE id = ANY(${accountIds}::int[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`
  const statement = sql`
    WITH free_accounts AS MATERIALIZED (${freeAccounts}), ${lockedSql(machineRow, which)}
    SELECT locked.*, clock_timestamp() AS locked_at, to_json(ARRAY(SELECT id FROM free_accounts)) AS account_ids FROM locked`
  const rows = await queryLocked(tx, statement, { ...machineRow, accountIds: json<number[]>() })
  return { machines: rows.map(({ accountIds: _, ...machine }) => machine), accountIds: new Set(rows[0]?.accountIds) }
}

function machinesOfOffersSql(offerIds: readonly bigint[]): Prisma.Sql {
  return sql`ARRAY(
    SELECT machine_id FROM offers WHERE id = ANY(${offerIds.map(String)}::bigint[]) AND withdrawn_at IS NULL AND rentable)`
}

/** Locks those of the machines that no other transaction has locked, without waiting for the others. */
export async function lockFreeMachines(tx: Transaction, ids: readonly number[]): Promise<MarketMachine[]> {
  return await lockRows(tx, marketRow, sql`id = ANY(${ids}::int[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`)
}

/** `lockFreeMachines` for the machines of those instances that belong to an account. */
export async function lockFreeMachinesOf(
  tx: Transaction,
  accountId: number,
  instanceIds: readonly bigint[],
): Promise<MarketMachine[]> {
  const ids = sql`ARRAY(
    SELECT machine_id FROM instances i WHERE i.id = ANY(${instanceIds.map(String)}::bigint[]) AND i.account_id = ${accountId})`
  return await lockRows(tx, marketRow, sql`id = ANY(${ids}) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`)
}

async function lockRows<Shape extends RowShape>(
  tx: Transaction,
  shape: Shape,
  which: Prisma.Sql,
): Promise<RowOf<Shape>[]> {
  return await queryLocked(
    tx,
    sql`WITH ${lockedSql(shape, which)} SELECT locked.*, clock_timestamp() AS locked_at FROM locked`,
    shape,
  )
}

/** The outer query must read the clock: this one would read the clock before it waits for the lock. */
function lockedSql(shape: RowShape, which: Prisma.Sql): Prisma.Sql {
  return sql`locked AS MATERIALIZED (SELECT ${columnsSql('m', shape)} FROM machines m WHERE ${which})`
}

async function queryLocked<Shape extends RowShape>(
  tx: Transaction,
  statement: Prisma.Sql,
  shape: Shape,
): Promise<RowOf<Shape>[]> {
  const rows = await tx.query(statement, { ...shape, lockedAt: timestamptz })
  // The clock is read for each row once it is locked. Safe: the shape above has it.
  const last = rows.at(-1) as { lockedAt: Date } | undefined
  if (last) tx.advanceTo(last.lockedAt)
  return rows
}

/** The machine of an offer on the market, without a lock: another transaction may be changing it. */
export function machineOfOfferRead(offerId: bigint): Read<typeof machineRow> {
  const statement = sql`
    SELECT ${columnsSql('m', machineRow)} FROM offers o JOIN machines m ON m.id = o.machine_id
    WHERE o.id = ${offerId} AND o.withdrawn_at IS NULL`
  return readOf(statement, machineRow)
}
