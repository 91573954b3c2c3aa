import { expect, it } from 'vitest'
import { connectEngine } from '../../../src/providers/docker/engine/client.ts'
import { EngineError } from '../../../src/providers/docker/engine/error.ts'
import { readTarFile, writeTar } from '../../../src/providers/docker/engine/tar.ts'
import { MachineUnreachable } from '../../../src/providers/provider.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

const signal = () => AbortSignal.timeout(5_000)

async function connectTo(version: object) {
  const { url } = await startFakeEngine(({ path }) => (path === '/version' ? { json: version } : undefined))
  return await connectEngine({ url, tls: null }, signal())
}

it.each([
  ['1.41', '1.12', true],
  ['1.47', '1.24', true],
  ['1.54', '1.44', true],
  ['1.40', '1.12', false],
  ['1.60', '1.48', false],
])('speaks to an engine of version %s that still knows %s: %s', async (ApiVersion, MinAPIVersion, expected) => {
  const connecting = connectTo({ ApiVersion, MinAPIVersion })
  if (expected) await connecting
  else await expect(connecting).rejects.toThrow(`The engine speaks API versions ${MinAPIVersion} to ${ApiVersion}`)
})

it.each([
  ['1.47', '1.41', 'client version 1.47 is too new. Maximum supported API version is 1.41'],
  ['1.41', '1.44', 'client version 1.41 is too old. Minimum supported API version is 1.44, please upgrade your client'],
])('speaks another version once an engine of version %s is replaced by one of %s', async (before, after, message) => {
  let version = before
  const { url, requests } = await startFakeEngine(request => {
    if (request.path === '/version') return { json: { ApiVersion: version, MinAPIVersion: version } }
    return request.version === version ? { json: ['it'] } : { status: 400, json: { message } }
  })
  const client = await connectEngine({ url, tls: null }, signal())
  version = after
  expect(await client.call('POST', '/it', { json: { a: 1 }, signal: signal() })).toEqual(['it'])
  expect(requests.at(-1)).toMatchObject({ version: after, path: '/it', body: { a: 1 } })
  const asked = requests.length
  await client.call('GET', '/it', { signal: signal() })
  expect(requests).toHaveLength(asked + 1)
})

it('tells why a request is refused whose version the engine speaks', async () => {
  const message = 'client version 1.47 is too new'
  const { url } = await startFakeEngine(({ path }) => (path === '/it' ? { status: 400, json: { message } } : undefined))
  const client = await connectEngine({ url, tls: null }, signal())
  await expect(client.call('GET', '/it', { signal: signal() })).rejects.toThrow(new EngineError(400, message))
})

it('gives up an engine that does not answer', async () => {
  const { url } = await startFakeEngine(({ path }) => (path === '/info' ? 'never' : undefined))
  const client = await connectEngine({ url, tls: null }, signal())
  const late = client.call('GET', '/info', { signal: signal(), deadlineMs: 50 })
  await expect(late).rejects.toThrow(MachineUnreachable)
})

it('gives up when its caller does', async () => {
  const { url } = await startFakeEngine(() => undefined)
  const client = await connectEngine({ url, tls: null }, signal())
  const controller = new AbortController()
  const call = client.call('GET', '/info', { signal: controller.signal })
  controller.abort(new Error('given up'))
  await expect(call).rejects.toThrow('given up')
})

it('tells a refusal from a lost engine', async () => {
  const { url } = await startFakeEngine(({ path }) =>
    path === '/no' ? { status: 409, json: { message: 'not now' } } : undefined,
  )
  const client = await connectEngine({ url, tls: null }, signal())
  await expect(client.call('GET', '/no', { signal: signal() })).rejects.toThrow(new EngineError(409, 'not now'))
  await expect(connectEngine({ url: 'unix:///nowhere', tls: null }, signal())).rejects.toThrow(MachineUnreachable)
})

it('refuses TCP without TLS', async () => {
  await expect(connectEngine({ url: 'tcp://127.0.0.1:1', tls: null }, signal())).rejects.toThrow('with TLS')
})

it('reads the file that it writes into an archive, unless it is cut', () => {
  const tar = writeTar([{ path: '.berth/file', mode: 0o600, content: 'x'.repeat(1_000) }])
  expect(tar.length % 512).toBe(0)
  expect(readTarFile(tar)?.length).toBe(1_000)
  expect(readTarFile(tar.subarray(0, 600))).toBeUndefined()
  expect(readTarFile(Buffer.alloc(0))).toBeUndefined()
})
