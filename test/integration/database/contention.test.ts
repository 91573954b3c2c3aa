import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RestAnswer, startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { listMachines } from '../../support/factories.ts'

let [first, second]: TestApp[] = []
let apps: TestApp[]
let key: string
let machines = 0

beforeAll(async () => {
  first = await startApp()
  second = await startApp({ sharedApp: first })
  apps = [first, second]
  key = await first.newKey()
  await sql(creditSql(100_000_000_000n, 'true'))
})

afterAll(async () => {
  await second?.close()
  await first?.close()
})

async function sql(text: string) {
  return (await (first as TestApp).sql(text)) as Record<string, unknown>[]
}

/** Lists a new machine. Returns its id, and the ids of its offers. */
async function listMachineWithGpus(numGpus: number) {
  await listMachines((first as TestApp).operations, [{ machine: { numGpus } }])
  machines += 1
  const offers = await sql(`SELECT id, first_gpu, num_gpus FROM offers WHERE machine_id = ${machines} ORDER BY id`)
  return { id: machines, offers: offers.map(({ id }) => Number(id)) }
}

/** Sends all requests at once, alternating between the two apps. */
function sendConcurrently(requests: ((app: TestApp) => Promise<RestAnswer>)[]): Promise<RestAnswer[]> {
  return Promise.all(requests.map((request, index) => request(apps[index % 2] as TestApp)))
}

const rent = (offer: number) => (app: TestApp) => app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'ubuntu' })

async function drainApps(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await Promise.all(apps.map(app => app.runUntilIdle()))
    ;(first as TestApp).clock.advance(31_000)
  }
  await Promise.all(apps.map(app => app.runUntilIdle()))
}

const countOutcomes = (answers: RestAnswer[]) => {
  const outcomes = answers.map(({ status, body }) => `${status} ${body.error ?? 'ok'}`)
  return Object.fromEntries([...new Set(outcomes)].map(kind => [kind, outcomes.filter(other => other === kind).length]))
}

describe('two apps on one database', () => {
  it('rent an offer only once when 200 requests compete for it', async () => {
    const { id, offers } = await listMachineWithGpus(1)
    const answers = await sendConcurrently(Array.from({ length: 200 }, () => rent(offers[0] as number)))
    expect(countOutcomes(answers)).toEqual({ '200 ok': 1, '404 no_such_ask': 199 })
    expect(await sql(`SELECT count(*)::int FROM instances WHERE machine_id = ${id}`)).toEqual([{ count: 1 }])
  })

  it('never rent a GPU twice through overlapping offers', async () => {
    const { id, offers } = await listMachineWithGpus(8)
    const answers = await sendConcurrently([...offers, ...offers.toReversed(), ...offers].map(rent))
    const { '200 ok': rented = 0, '404 no_such_ask': refused = 0 } = countOutcomes(answers)
    expect(rented).toBeGreaterThan(0)
    expect(rented + refused).toBe(answers.length)
    const [row] = await sql(`
      SELECT count(*)::int AS instances, sum(num_gpus)::int AS gpus,
        (SELECT count(*)::int FROM gpus WHERE machine_id = ${id} AND holder_id IS NOT NULL) AS held
      FROM instances WHERE machine_id = ${id}`)
    expect(row).toMatchObject({ instances: rented, held: row?.['gpus'] })
  })

  it('start, stop and destroy one instance in any order, and leave it destroyed', async () => {
    const { id, offers } = await listMachineWithGpus(2)
    const rented = await rent(offers[0] as number)(first as TestApp)
    const path = `/instances/${rented.body.new_contract}/`
    await drainApps()
    const change = (state: string) => (app: TestApp) => app.rest(key, 'PUT', path, { state })
    const stateChanges = Array.from({ length: 40 }, (_, index) => change(index % 3 === 0 ? 'running' : 'stopped'))
    const swapped = await sendConcurrently([...stateChanges, ...Array.from({ length: 8 }, () => readOnceIdle)])
    expect(new Set(swapped.map(({ status }) => status))).toEqual(new Set([200]))
    const ended = await sendConcurrently([
      ...stateChanges,
      ...Array.from({ length: 4 }, () => destroy),
      ...stateChanges,
    ])
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set([200, 404]))
    expect(ended.slice(40, 44).filter(({ status }) => status === 200)).toHaveLength(1)
    await drainApps()
    const [row] = await sql(`
      SELECT free_disk_mb = disk_mb AS disk, free_ports = last_port - first_port + 1 AS ports,
        (SELECT count(*)::int FROM gpus g WHERE g.machine_id = m.id AND (holder_id, occupant_id) IS NULL) AS free
      FROM machines m WHERE id = ${id}`)
    expect(row).toEqual({ disk: true, ports: true, free: 2 })

    function destroy(app: TestApp) {
      return app.rest(key, 'DELETE', path, {})
    }
    async function readOnceIdle(app: TestApp) {
      await app.runUntilIdle()
      return await app.rest(key, 'GET', path)
    }
  })

  it('log no failure in all of this', () => {
    for (const app of apps) expect(app.logLines.filter(({ level }) => (level as number) >= 40)).toEqual([])
  })
})
