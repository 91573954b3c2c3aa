import { openDatabase } from '../../../src/database/client.ts'
import { planOffers, selectGranted } from '../../../src/domain/machines/market.ts'

/**
 * Compares the offers of some machines with those that Berth's own rule plans. SQL made them, so nothing else notices when
 * the rule changes.
 */
export async function checkMarket(url: string): Promise<void> {
  const { prisma, close } = openDatabase({ url, poolSize: 2, onIdleError: () => {} })
  try {
    const machines = await prisma.machine.findMany({
      where: { OR: [{ id: { lte: 100 } }, { instances: { some: {} } }] },
      include: { offers: { where: { withdrawnAt: null } }, instances: true },
      take: 300,
    })
    for (const { offers, instances, ...machine } of machines) {
      const claims = instances.map(instance => ({ ...instance, instanceId: instance.id, holdsGpus: true }))
      const { changed, added } = planOffers(machine, offers, selectGranted(claims))
      if (changed.length + added.length > 0)
        throw new Error(
          `The offers of machine ${machine.id} differ from the rule. Change test/bench/setup/sql/functions.sql.`,
        )
    }
  } finally {
    await close()
  }
}
