import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
})

afterAll(() => app.close())

const copy = { client_id: 'me', src_id: '5678', dst_id: '5679', src_path: '/a', dst_path: '/b' }

it.each([
  ['PUT', '/commands/copy_direct', copy],
  ['DELETE', '/commands/copy_direct/', { client_id: 'me', dst_id: '5678' }],
  ['PUT', '/commands/rsync/', { ...copy, src_id: null }],
  ['POST', '/commands/rclone/', { src: 'a', dst: 'b', instance_id: '5', selected: '', transfer: '', flags: [] }],
  ['POST', '/commands/schedule_job/', { start_time: 1, api_endpoint: '/api/v0/instances/5/', request_method: 'PUT' }],
])('answers %s %s and the body %j with not_implemented and an alternative', async (method, path, body) => {
  const answer = await app.rest(key, method, path, body)
  expect(answer).toMatchObject({
    status: 501,
    body: { success: false, error: 'not_implemented', msg: expect.stringMatching(/(SSH|scheduler).+\.$/) },
  })
})

it.each(['PUT', 'POST', 'DELETE'])('refuses %s to a key that may only read', async method => {
  const path = method === 'POST' ? '/commands/rclone/' : '/commands/rsync/'
  const reader = await app.newScopedKey(key, { api: { instance_read: {} } })
  expect((await app.rest(reader, method, path, {})).status).toBe(403)
})
