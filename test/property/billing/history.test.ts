import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newAccount } from '../../support/accounts/accounts.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { createAccountActions, type Renter } from '../../support/billing/account-actions.ts'
import { checkMoney } from '../../support/billing/check-money.ts'
import { checkFigures, checkRunning } from '../../support/billing/figures.ts'
import { createSeededRandom } from '../../support/seeded-random.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const commands = Number(process.env['BILLING_COMMANDS'] ?? 200)
const [second, hour] = [1_000, 3_600_000]

let app: TestApp
let pool: pg.Pool
beforeAll(async () => {
  const started = await startApp({ simulatedDelay: 0 })
  pool = new pg.Pool({ connectionString: started.database.url, max: 2 })
  // A connection for each of the many queries would take most of the time.
  app = { ...started, sql: async text => (await pool.query(text)).rows }
})
afterAll(async () => {
  await pool.end()
  await app.close()
})

it(`keeps money consistent after any history of commands and clock steps (seed ${seed})`, async () => {
  const chance = createSeededRandom(seed)
  const volumes = volumesOf(app)
  const machines: number[] = []
  for (let index = 0; index < 6; index += 1) machines.push(await volumes.newMachine({ numGpus: 2 }))
  const accounts: Renter[] = []
  for (const dollars of [1n, 3n, 30n]) {
    const account = await newAccount(app, dollars * 1_000_000_000n)
    accounts.push({
      ...account,
      other: (await app.operations.accounts.createApiKey(account.email, { permissions: null })).apiKey,
    })
  }
  const actions = createAccountActions(app, chance, machines)
  const often = [
    'rents',
    'rents',
    'starts',
    'starts',
    'bids',
    'waits',
    'waits',
    'waits',
    'destroys',
    'stops',
    'gets a machine back',
  ]
  const names = [...Object.keys(actions), ...often]

  const grantedAt = app.clock.now().getTime()
  const earliest = new Map([[grantedAt, grantedAt]])
  /** Moves the clock, mostly forward by milliseconds or hours, and sometimes back. */
  const tick = () => {
    const ms = chance.pick([
      chance.between(0, 5),
      chance.between(0, second),
      chance.between(0, 60 * second),
      chance.between(0, 2 * hour),
    ]) as number
    const far = chance.withProbability(0.02) ? chance.between(0, 30 * hour) : 0
    app.clock.advance(chance.withProbability(0.1) ? -ms : ms + far)
    const now = app.clock.now().getTime()
    for (const [at, first] of earliest) earliest.set(at, Math.min(first, now))
  }

  let ran = 0
  for (let count = 1; count <= commands; count += 1) {
    const account = chance.pick(accounts) as Renter
    const name = chance.pick(names) as string
    await actions[name]?.(account)
    const story = `FC_SEED=${seed} after ${count} commands, the last: ${name}`
    if (name === 'gets credit' || name === 'gets an adjustment')
      earliest.set(app.clock.now().getTime(), app.clock.now().getTime())
    if (name === 'waits') ran += await checkRunning(app, story)
    tick()
    await checkFigures(app, account, story)
    if (count % 100 > 0 && count < commands) continue
    await app.runUntilIdle()
    ran += await checkRunning(app, story)
    await checkMoney(app, story, earliest)
    const entries = await app.sql('SELECT count(*) FROM ledger_entries')
    await app.runUntilIdle()
    expect(await app.sql('SELECT count(*) FROM ledger_entries'), story).toEqual(entries)
  }
  expect(ran).toBeGreaterThan(0)
  const kinds = await app.sql('SELECT DISTINCT kind::text FROM ledger_entries ORDER BY 1')
  if (commands >= 1_000) expect(kinds.length).toBeGreaterThanOrEqual(3)
}, 600_000)
