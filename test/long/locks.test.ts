import { afterAll, beforeAll, expect, it } from 'vitest'
import { DomainError } from '../../src/domain/errors.ts'
import { unboundedSql } from '../support/accounts/unbounded.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { expectNoDeadlock } from '../support/database/deadlocks.ts'
import { listMachines } from '../support/factories.ts'
import { type Gateway, openGateway } from '../support/gateways.ts'

const writers = 8
const durationMs = 8_000

let testDatabase: TestDatabase
let gateways: Gateway[]

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateways = [0, 1].map(() =>
    openGateway({ url: testDatabase.url, now: () => new Date(), poolSize: 8, delayFactor: 0.01 }),
  )
})

afterAll(async () => {
  for (const gateway of gateways) await gateway.close()
  await testDatabase.drop()
})

it('takes locks in one order, so that eight writers never deadlock', async () => {
  const [first] = gateways as [Gateway, Gateway]
  await listMachines(first.operations, [{ machine: { numGpus: 8 } }])
  const actor = await first.newActor()
  await first.sql(unboundedSql(actor.accountId))
  const end = Date.now() + durationMs
  let commandCount = 0

  const write = async (index: number) => {
    const gateway = gateways[index % 2] as Gateway
    for (let turn = index; Date.now() < end; turn += 1) {
      const rows = await gateway.sql('SELECT id FROM instances WHERE destroyed_at IS NULL ORDER BY random() LIMIT 6')
      const ids = rows.map(({ id }) => BigInt(id as string))
      const [offer] = await gateway.sql('SELECT id, min_bid_nanos FROM offers WHERE rentable ORDER BY random() LIMIT 1')
      await runCommand(gateway, turn % 7, ids, offer).catch((error: unknown) => {
        if (!(error instanceof DomainError)) throw error
      })
      commandCount += 1
    }
  }

  async function runCommand(gateway: Gateway, kind: number, ids: bigint[], offer: Record<string, unknown> | undefined) {
    const offerId = BigInt((offer?.['id'] as string | undefined) ?? 0)
    const bidNanos = BigInt((offer?.['min_bid_nanos'] as string | undefined) ?? 0)
    if (kind === 0) return await gateway.rent(actor, offerId)
    if (kind === 1) return await gateway.rent(actor, offerId, { terms: { interruptible: true, bidNanos } })
    if (ids.length === 0) return
    if (kind === 6) return await gateway.services.instances.updateBid(actor, ids[0] as bigint, bidNanos)
    if (kind === 2 || kind === 3)
      return await gateway.services.instances.update(actor, { ids }, { targetState: 'stopped' })
    if (kind === 4) return await gateway.services.instances.update(actor, { ids }, { targetState: 'running' })
    return await gateway.services.instances.destroy(actor, { ids: ids.slice(0, 2) })
  }

  const reconcile = async (gateway: Gateway) => {
    while (Date.now() < end) await gateway.idle()
  }

  await Promise.all([...Array.from({ length: writers }, (_, index) => write(index)), ...gateways.map(reconcile)])
  await expectNoDeadlock(testDatabase.url)
  expect(commandCount).toBeGreaterThan(200)
  for (const { lines } of gateways) expect(lines.filter(({ level }) => (level as number) >= 40)).toEqual([])
})
