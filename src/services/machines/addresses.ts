import { errorCodesOf } from '../../database/failure-codes.ts'
import { Prisma } from '../../database/generated/client.ts'
import { locks } from '../../database/locks.ts'
import { int4 } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Address } from '../../domain/machines/addresses.ts'

const { sql } = Prisma

/** Serializes listings until the transaction ends, so that no two machines are listed with the same ports. */
export async function lockAddresses(tx: Transaction): Promise<void> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(${locks.market})`).catch((error: unknown) => {
    if (!errorCodesOf(error).includes('55P03')) throw error
    const message = 'Another command is adding machines to the market. Try again when that command has ended.'
    throw new DomainError('CONFLICT', message, { subject: null })
  })
}

/** Finds the addresses that share ports with a machine on the market. `index` is the place in `addresses`. */
export async function findSharedPorts(
  tx: Transaction,
  addresses: Address[],
): Promise<{ index: number; machineId: number }[]> {
  const statement = sql`
    SELECT wanted.place::int - 1 AS index, min(m.id) AS machine_id FROM unnest(
      ${addresses.map(({ publicIp }) => publicIp)}::text[], ${addresses.map(({ firstPort }) => firstPort)}::int[],
      ${addresses.map(({ lastPort }) => lastPort)}::int[]
    ) WITH ORDINALITY AS wanted(public_ip, first_port, last_port, place)
    JOIN machines m ON m.public_ip = wanted.public_ip AND m.unlisted_at IS NULL
    AND m.first_port <= wanted.last_port AND m.last_port >= wanted.first_port
    GROUP BY wanted.place ORDER BY wanted.place`
  return await tx.query(statement, { index: int4, machineId: int4 })
}
