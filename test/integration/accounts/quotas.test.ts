import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CommandOperations } from '../../../src/operator/command.ts'
import { findCommand } from '../../../src/operator/commands.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { defaultAdmission } from '../../support/billing/admission.ts'
import { type Faces, facesOf } from '../../support/faces/faces.ts'
import { type Rentals, rentalsOf } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let faces: Faces
let volumes: ReturnType<typeof volumesOf>
let key: string
let email: string

beforeAll(async () => {
  const quotas = { instances: 3, loading: 2, diskGb: 100, volumes: 2 }
  app = await startApp({ ...defaultAdmission, quotas })
  rentals = rentalsOf(app)
  faces = facesOf(app)
  volumes = volumesOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  key = await app.newKey(null, { creditNanos: 100_000_000_000n })
  const [row] = (await app.sql('SELECT email FROM accounts ORDER BY id DESC LIMIT 1')) as { email: string }[]
  email = row?.email as string
})

const quotaRefusal = (quota: string, limit: number, used: number, asked = 1) => ({
  status: 400,
  body: { success: false, error: 'quota_exceeded', quota, limit, used, asked },
})
const noEngines = { connect: () => expect.unreachable(), disconnect: () => expect.unreachable() }
const toolbox = { build: () => expect.unreachable() }
const build = { version: '0.0.0', migration: '', node: '' }
const host = { join: () => expect.unreachable(), run: () => expect.unreachable() }
const doctor = { examine: () => expect.unreachable() }
const instanceLogs = { lines: () => expect.unreachable() }
const backups = {
  write: () => expect.unreachable(),
  restore: () => expect.unreachable(),
  check: () => expect.unreachable(),
  upgrade: () => expect.unreachable(),
}
const webhooks = { page: () => expect.unreachable() }
const secret = { change: () => expect.unreachable() }
const local = {
  backups,
  toolbox,
  build,
  instanceLogs,
  host,
  doctor,
  secret,
  webhooks,
  findFirewallGaps: () => expect.unreachable(),
  migrations: [],
}
const operations = (): CommandOperations => ({ ...app.operations, ...local, engines: noEngines })
const setQuotas = async (...options: string[]) =>
  await findCommand(['account', 'limit', '--account', email, ...options]).run(operations())
const stopped = { image: 'ubuntu', target_state: 'stopped' }

describe('an account', () => {
  it('cannot have more instances than its quota, on either face', async () => {
    for (let count = 0; count < 3; count += 1) await rentals.rent(key, stopped)
    expect(await rentals.tryRent(key, stopped)).toMatchObject(quotaRefusal('instances', 3, 3))
    const offerId = String(await rentals.newOffer())
    const fields = '... on Error { code } ... on QuotaExceededError { quota maximum used asked }'
    const query = `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { ${fields} } }`
    const input = { offerId, spec: { source: { image: 'ubuntu' }, targetState: 'STOPPED' } }
    const refusal = { code: 'QUOTA_EXCEEDED', quota: 'INSTANCES', maximum: 3, used: 3, asked: 1 }
    expect((await app.graphql(key, query, { input })).data.rentInstance).toEqual(refusal)
    const quote = `query ($input: RentInstanceInput!) { rentQuote(input: $input) { blockers { ${fields} } } }`
    expect((await app.graphql(key, quote, { input })).data.rentQuote).toEqual({ blockers: [refusal] })
  })

  it('can rent another instance after destroying one', async () => {
    const id = await rentals.rent(key, stopped)
    for (let count = 0; count < 2; count += 1) await rentals.rent(key, stopped)
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    await rentals.rent(key, stopped)
    expect(await rentals.tryRent(key, stopped)).toMatchObject(quotaRefusal('instances', 3, 3))
  })

  it('cannot have more loading instances than its quota, and can start another once they run', async () => {
    await rentals.rent(key)
    await rentals.rent(key)
    expect(await rentals.tryRent(key, { image: 'ubuntu' })).toMatchObject(quotaRefusal('loading', 2, 2))
    const id = await rentals.rent(key, stopped)
    const start = () => app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    expect(await start()).toMatchObject(quotaRefusal('loading', 2, 2))
    await rentals.converge()
    expect(await start()).toMatchObject({ status: 200 })
  })

  it('recycles a running instance only within the quota of loading instances', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await rentals.rent(key)
    await rentals.rent(key)
    const refused = await app.rest(key, 'PUT', `/instances/recycle/${id}/`)
    expect(refused).toMatchObject(quotaRefusal('loading', 2, 2))
    expect(await faces.mutate(key, 'recycleInstance', { id: String(id) })).toMatchObject({ code: 'QUOTA_EXCEEDED' })
  })

  it('has a quota of loading instances that ignores instances waiting for GPUs', async () => {
    await setQuotas('--instances', '9')
    const rival = await app.newKey(null, { creditNanos: 100_000_000_000n })
    for (let count = 0; count < 3; count += 1) {
      const offer = await rentals.newOffer()
      const [row] = (await app.sql(`SELECT machine_id FROM offers WHERE id = ${offer}`)) as { machine_id: number }[]
      await app.rest(rival, 'PUT', `/asks/${offer}/`, { image: 'ubuntu', price: 0.5 })
      await rentals.converge()
      const [left] = (await app.sql(
        `SELECT id FROM offers WHERE machine_id = ${row?.machine_id} AND withdrawn_at IS NULL`,
      )) as { id: string }[]
      const bid = await app.rest(key, 'PUT', `/asks/${left?.id}/`, { image: 'ubuntu', price: 0.3 })
      expect(bid).toMatchObject({ status: 200 })
      await rentals.converge()
    }
    await rentals.rent(key)
  })

  it('cannot get GPUs by a higher bid for more instances that load than its quota', async () => {
    const rival = await app.newKey(null, { creditNanos: 100_000_000_000n })
    const offer = await rentals.newOffer()
    const bid = await app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'ubuntu', price: 0.3 })
    const waiting = bid.body.new_contract as number
    const [left] = (await app.sql(`SELECT id FROM offers WHERE withdrawn_at IS NULL
      AND machine_id = (SELECT machine_id FROM instances WHERE id = ${waiting})`)) as { id: string }[]
    const outbid = await app.rest(rival, 'PUT', `/asks/${left?.id}/`, { image: 'ubuntu', price: 0.5 })
    expect(outbid).toMatchObject({ status: 200 })
    await rentals.converge()
    const [loading] = [await rentals.rent(key), await rentals.rent(key)]
    const raise = () => app.rest(key, 'PUT', `/instances/bid_price/${waiting}/`, { client_id: 'me', price: 0.6 })
    expect(await raise()).toMatchObject(quotaRefusal('loading', 2, 2))
    await app.rest(key, 'DELETE', `/instances/${loading}/`)
    expect(await raise()).toMatchObject({ status: 200 })
  })

  it('cannot have more GB of disks and volumes than its quota', async () => {
    await rentals.rent(key, { ...stopped, disk: 50 })
    const machineId = await volumes.newMachine()
    expect(await app.rest(key, 'PUT', '/volumes/', { id: machineId, size: 50.5 })).toMatchObject(
      quotaRefusal('disk_gb', 100, 50, 50.5),
    )
    await volumes.make(key, machineId, 42)
    await rentals.rent(key, stopped)
    expect(await rentals.tryRent(key, stopped)).toMatchObject(quotaRefusal('disk_gb', 100, 100, 8))
  })

  it('cannot have more volumes than its quota, even when a rental creates them', async () => {
    const machineId = await volumes.newMachine()
    await volumes.make(key, machineId, 1)
    await volumes.make(key, machineId, 1)
    expect(await app.rest(key, 'PUT', '/volumes/', { id: machineId, size: 1 })).toMatchObject(
      quotaRefusal('volumes', 2, 2),
    )
    const volume = { mountPath: '/data', source: { create: { sizeGb: 1 } } }
    const spec = { source: { image: 'ubuntu' }, volumes: [volume] }
    const rented = await faces.mutate(key, 'rentInstance', { offerId: String(await rentals.newOffer()), spec })
    expect(rented).toMatchObject({ code: 'QUOTA_EXCEEDED' })
  })
})

describe('an operator', () => {
  it('sets quotas of one account, which apply at once, and can restore the default', async () => {
    expect(await setQuotas('--instances', '0', '--disk-gb', '7')).toEqual({
      ...{ account: email, instances: 0, loading: null, diskGb: 7, volumes: null },
    })
    expect(await rentals.tryRent(key, stopped)).toMatchObject(quotaRefusal('instances', 0, 0))
    const other = await app.newKey(null, { creditNanos: 100_000_000_000n })
    await rentals.rent(other, stopped)
    await setQuotas('--instances', 'default', '--disk-gb', '9')
    await rentals.rent(key, stopped)
    expect(await rentals.tryRent(key, stopped)).toMatchObject(quotaRefusal('disk_gb', 9, 8, 8))
  })

  it('sees quotas in the list of accounts, and the account sees them in its events', async () => {
    await setQuotas('--volumes', '5')
    await setQuotas('--volumes', '5')
    await setQuotas('--volumes', '6')
    const rows = findCommand(['account', 'list']).run(operations()) as AsyncIterable<Record<string, unknown>>
    const listed: Record<string, unknown>[] = []
    for await (const row of rows) if (row['email'] === email) listed.push(row)
    expect(listed).toMatchObject([{ quotas: { instances: null, loading: null, diskGb: null, volumes: 6 } }])
    const query =
      '{ events(first: 2, filter: { kinds: [ACCOUNT_QUOTAS_CHANGED] }) { nodes { changes { field before after } } } }'
    const { data, errors } = await app.graphql(key, query)
    expect(errors).toBeUndefined()
    const changes = data.events.nodes.map((event: { changes: object[] }) => event.changes[0])
    expect(changes).toEqual([
      { field: 'volumes', before: null, after: '5' },
      { field: 'volumes', before: '5', after: '6' },
    ])
  })

  it('gets an explanation when a quota is missing or invalid', () => {
    const read = (...options: string[]) => findCommand(['account', 'limit', '--account', email, ...options])
    expect(() => read()).toThrow('No quota is given. Give at least one of --instances')
    expect(() => read('--instances', '1.5')).toThrow('--instances must be a whole number from 0')
  })
})
