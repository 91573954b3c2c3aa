// Suspends new rentals on machines that do not confirm that containers are down.

import { Prisma } from '../../database/generated/client.ts'
import { nullable, timestamptz } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { MarketMachine } from '../../domain/machines/machines.ts'
import { updateOffers } from '../machines/market.ts'
import type { Finding } from './finding.ts'
import type { InstanceLease } from './leases.ts'

const { sql } = Prisma

/** Whether the finding suspended new rentals on the machine, or allowed them again. */
export type SuspensionChange = 'suspended' | 'cleared'

/** A machine takes no new rentals until it has confirmed every overdue stop of its instances. */
export async function updateSuspension(
  tx: Transaction,
  { instanceId, unconfirmedAt: before }: InstanceLease,
  { unconfirmed }: Finding,
  machine: MarketMachine,
  at: Date,
): Promise<SuspensionChange | undefined> {
  if (unconfirmed === (before !== null)) return undefined
  await tx.execute(sql`UPDATE instances SET unconfirmed_at = ${unconfirmed ? at : null} WHERE id = ${instanceId}`)
  const [oldest] = await tx.query(
    sql`SELECT min(unconfirmed_at) AS unconfirmed_at FROM instances
      WHERE machine_id = ${machine.id} AND unconfirmed_at IS NOT NULL`,
    { unconfirmedAt: nullable(timestamptz) },
  )
  const unconfirmedAt = oldest?.unconfirmedAt ?? null
  if ((unconfirmedAt === null) === (machine.unconfirmedAt === null)) return undefined
  await tx.execute(sql`UPDATE machines SET unconfirmed_at = ${unconfirmedAt} WHERE id = ${machine.id}`)
  await updateOffers(tx, { ...machine, unconfirmedAt }, at)
  return unconfirmedAt === null ? 'cleared' : 'suspended'
}
