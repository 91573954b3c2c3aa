import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMarket } from '../../bench/setup/market.ts'
import { checkMarket } from '../../bench/setup/market-check.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await createMarket(client, { machines: 400, largest: 20, fleets: 2 })
})

afterAll(async () => {
  await client.end()
  await database.drop()
})

const ask = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows

describe('the market of the bench', () => {
  it('has the offers that the rule plans, and consistent money', async () => {
    await checkMarket(database.url)
    expect(await brokenLaws(ask)).toEqual([])
    const [counts] = await ask(
      'SELECT (SELECT count(*)::int FROM instances), (SELECT count(*)::int FROM gpus WHERE holder_id IS NOT NULL) AS held',
    )
    expect(counts.count).toBe(20 + 2 * 64)
    expect(counts.held).toBeGreaterThan(counts.count)
  })

  it('keeps its rules when peers rent, label, stop and start', async () => {
    const [offer] = await ask('SELECT id FROM offers WHERE rentable AND num_gpus > 1 ORDER BY id DESC LIMIT 1')
    await ask('SELECT peer.rent_offer(150, $1, $2)', [offer.id, 'ubuntu'])
    const [fleet] = await ask('SELECT array_agg(instance_id) AS ids FROM bench.rentals WHERE account_id = 2')
    const [stopped] = await ask(
      "SELECT peer.set_target_state(2, $1, 'stopped') AS count, peer.label_instances(2, $1, 'new') AS labeled",
      [fleet.ids],
    )
    expect(stopped).toEqual({ count: 64, labeled: 64 })
    expect(await brokenLaws(ask)).toEqual([])
    await ask('SELECT bench.restore_fleets()')
    await checkMarket(database.url)
    expect(await brokenLaws(ask)).toEqual([])
    const [traces] = await ask('SELECT bench.trace_of_targets($1) AS trace', [fleet.ids])
    expect(traces.trace).toMatchObject({ targets: ['running'], chargedWhileStopped: 0 })
  })
})
