// The status reason of destroyed instances.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

async function seen(id: number) {
  const { data } = await app.graphql(key, `{ instance(id: ${id}) { status statusReason { code message } } }`)
  return data.instance
}

const statuses = ['created', 'loading', 'running', 'stopped', 'exited', 'unknown', 'offline']

async function rentTo(status: string): Promise<number> {
  if (status !== 'loading') return await rentals.rentToStatus(key, status)
  const id = await rentals.rent(key)
  await app.runUntilIdle()
  return id
}

it.each(statuses)('names the API key that destroyed an instance that was %s', async status => {
  const id = await rentTo(status)
  const [row] = await app.sql(`SELECT api_key_id FROM instances WHERE id = ${id}`)
  expect((await app.rest(key, 'DELETE', `/instances/${id}/`)).status).toBe(200)
  const message = `The instance was destroyed on request, with the API key key_${(row as { api_key_id: number }).api_key_id}.`
  const destroyed = { status: 'DESTROYED', statusReason: { code: 'USER_REQUEST', message } }
  expect(await seen(id)).toEqual(destroyed)
  await rentals.converge()
  expect(await seen(id)).toEqual(destroyed)
})

it('adds the missing reasons of requested destructions in a migration, and keeps the reasons of Berth', async () => {
  const [stale, own, both] = [await rentals.rent(key), await rentals.rent(key), await rentals.rent(key)]
  for (const id of [stale, own, both]) await app.rest(key, 'DELETE', `/instances/${id}/`)
  const reason = (id: number, code: string) =>
    app.sql(`UPDATE instances SET reason_code = '${code}', reason_message = 'As it was.' WHERE id = ${id}`)
  await reason(stale, 'STARTING')
  await reason(own, 'RENTAL_ENDED')
  await app.sql(`UPDATE events SET reason = 'RENTAL_ENDED' WHERE kind = 'INSTANCE_DESTROYED' AND instance_id = ${own}`)
  await reason(both, 'SCHEDULE')
  const migration = '../../../prisma/migrations/20261122153500_say_why_instances_were_destroyed/migration.sql'
  const text = await readFile(new URL(migration, import.meta.url), 'utf8')
  // A later migration renamed this column.
  await app.sql(text.replace('e.type =', 'e.kind ='))
  const onRequest = { code: 'USER_REQUEST', message: 'It was destroyed on request.' }
  expect((await seen(stale)).statusReason).toEqual(onRequest)
  expect((await seen(both)).statusReason).toEqual(onRequest)
  expect((await seen(own)).statusReason).toEqual({ code: 'RENTAL_ENDED', message: 'As it was.' })
})

it('does not report preparation for an instance that was rented stopped', async () => {
  const id = await rentals.rent(key, { target_state: 'stopped' })
  await rentals.converge()
  expect((await rentals.read(key, id)).status_msg).toBe('The instance has not been started yet.')
})
