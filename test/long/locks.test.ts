import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { expectNoDeadlock } from '../support/database/deadlocks.ts'
import { type Gateway, openGateway } from '../support/gateways.ts'
import { runLockLoad } from '../support/instances/lock-load.ts'

const writers = 8
const durationMs = 30_000

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
  const succeeded = await runLockLoad(gateways, writers, Date.now() + durationMs)
  await expectNoDeadlock(testDatabase.url)
  for (const [command, count] of succeeded) expect(count, command).toBeGreaterThan(0)
  const total = [...succeeded.values()].reduce((sum, count) => sum + count, 0)
  expect(total).toBeGreaterThan(200)
  process.stdout.write(`${total} commands without a deadlock: ${JSON.stringify(Object.fromEntries(succeeded))}\n`)
  for (const { lines } of gateways) expect(lines.filter(({ level }) => (level as number) >= 40)).toEqual([])
})
