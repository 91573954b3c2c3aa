// Each list answer is one snapshot, even if the list changes while it is read.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { interruptAfterStatement } from '../../support/database/captured-statements.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let key: string
let email: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
  email = (await app.rest(key, 'GET', '/users/current')).body.email
})

afterAll(() => app.close())

const get = async (path: string) => (await app.rest(key, 'GET', path)).body

it('returns as many invoices as it counts', async () => {
  const grant = () => app.operations.accounts.grantCredit(email, { amountNanos: 1_000_000_000n })
  const { results, total } = await interruptAfterStatement(() => get('/api/v1/invoices/'), /FROM ledger_entries/, grant)
  expect([results.length, total]).toEqual([1, 1])
  expect(await get('/api/v1/invoices/')).toMatchObject({ count: 2, total: 2 })
})

it('counts the labels of the instances that it returns', async () => {
  const rentals = rentalsOf(app)
  for (const label of ['one', 'two']) await rentals.rent(key, { label })
  const changeLabel = () => app.sql(`UPDATE instances SET label = 'other' WHERE label = 'two'`)
  const { instances, label_counts } = await interruptAfterStatement(
    () => get('/api/v1/instances/'),
    /SELECT i.id/,
    changeLabel,
  )
  const labels = instances.map(({ label }: { label: string }) => label)
  expect([labels, label_counts]).toEqual([['one', 'two'], { one: 1, two: 1 }])
  expect(await get('/api/v1/instances/')).toMatchObject({ label_counts: { one: 1, other: 1 } })
})

it('continues after the last returned template, even if that template has changed since', async () => {
  for (const name of ['a', 'b', 'c'])
    await app.rest(key, 'POST', '/template/', { name, image: 'ubuntu', private: true })
  const path = '/api/v1/template/?order_by=name&limit=1'
  const rename = () => app.sql(`UPDATE templates SET name = 'x' WHERE name = 'a'`)
  const first = await interruptAfterStatement(() => get(path), /FROM templates t/, rename)
  const second = await get(`${path}&after_token=${first.next_token}`)
  expect([first, second].map(({ templates }) => templates[0].name)).toEqual(['a', 'b'])
})
