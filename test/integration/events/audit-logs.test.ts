import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

type Row = {
  api_key_id: number | null
  created_at: number
  args: { event: string; message: string; instance_id: number | null }
}
const logsOf = async (key: string): Promise<Row[]> => {
  // A transaction that is open elsewhere on the server delays events.
  await expect
    .poll(async () => {
      const [{ pending }] = (await app.sql(
        'SELECT EXISTS (SELECT FROM events WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())) AS pending',
      )) as [{ pending: boolean }]
      return pending
    })
    .toBe(false)
  const { status, body } = await app.rest(key, 'GET', '/audit_logs?owner=me')
  expect(status).toBe(200)
  return body
}

it('the audit logs are an array of changes, newest first, with the key that made each change', async () => {
  const key = await app.newKey(null, someCredit)
  const id = await rentals.rent(key)
  await app.rest(key, 'PUT', `/instances/${id}/`, { label: 'x' })
  await rentals.converge()
  const rows = await logsOf(key)
  const [{ id: keyId }] = (await app.sql('SELECT max(id) AS id FROM api_keys')) as [{ id: number }]
  const labeled = rows.find(({ args }) => args.event === 'INSTANCE_LABEL_CHANGED')
  expect(labeled).toEqual({
    ip_address: null,
    api_key_id: keyId,
    created_at: expect.any(Number),
    api_route: null,
    args: { event: 'INSTANCE_LABEL_CHANGED', instance_id: id, message: expect.any(String), reason: 'USER_REQUEST' },
  })
  expect(rows.map(({ created_at }) => created_at)).toEqual(rows.map(row => row.created_at).toSorted((a, b) => b - a))
  const ran = rows.find(({ args }) => args.event === 'INSTANCE_STATUS_CHANGED')
  expect(ran).toMatchObject({ api_key_id: null, args: { instance_id: id } })
})

it('the audit logs have the newest hundred events', async () => {
  const key = await app.newKey(null, someCredit)
  const id = await rentals.rent(key)
  for (let label = 1; label <= 101; label += 1) await app.rest(key, 'PUT', `/instances/${id}/`, { label: `${label}` })
  const rows = await logsOf(key)
  expect(rows.map(({ args }) => args.event)).toEqual(Array(100).fill('INSTANCE_LABEL_CHANGED'))
})

it('the audit logs omit events of other accounts and events that the key may not read', async () => {
  const [key, other] = [await app.newKey(null, someCredit), await app.newKey(null, someCredit)]
  const id = await rentals.rent(key)
  expect((await logsOf(other)).filter(({ args }) => args.instance_id === id)).toEqual([])
  const account = await app.newScopedKey(key, { api: { user_read: {} } })
  expect((await logsOf(account)).map(({ args }) => args.instance_id)).not.toContain(id)
  const { status } = await app.rest(await app.newScopedKey(key, { api: { instance_read: {} } }), 'GET', '/audit_logs/')
  expect(status).toBe(403)
})

it('the audit logs agree with the events of GraphQL', async () => {
  const key = await app.newKey(null, someCredit)
  await rentals.rent(key)
  const rows = await logsOf(key)
  const { data } = await app.graphql(key, '{ events(last: 100) { nodes { kind createdAt message subjectId } } }')
  type Node = { kind: string; createdAt: string; message: string; subjectId: string }
  const ofGraphql = data.events.nodes.map(({ kind, createdAt, message, subjectId }: Node) => [
    kind,
    Date.parse(createdAt) / 1000,
    message,
    subjectId.startsWith('ins_') ? Number(subjectId.replace('ins_', '')) : null,
  ])
  expect(rows.map(({ args, created_at }) => [args.event, created_at, args.message, args.instance_id])).toEqual(
    ofGraphql.toReversed(),
  )
  expect(rows.length).toBeGreaterThan(1)
})
