import { expect, it } from 'vitest'
import { inspectEngine } from '../../../src/providers/docker/inspection/engine-facts.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

type Answer = { status?: number; json: unknown }

async function engineThat({ info = {}, create }: { info?: object; create?: Answer }) {
  const facts = { ID: 'one', NCPU: 8, MemTotal: 32e9, Architecture: 'x86_64', ServerVersion: '28.0.0', ...info }
  return await startFakeEngine(({ path }) => {
    if (path === '/info') return { json: { ...facts, SystemTime: new Date().toISOString() } }
    return path === '/containers/create' ? create : undefined
  })
}

const limitsDisk = async ({ url }: { url: string }) => (await inspectEngine({ url, tls: null })).limitsDisk

it('finds that an engine limits disks by a container that never starts, and leaves nothing', async () => {
  const engine = await engineThat({})
  expect(await limitsDisk(engine)).toBe(true)
  const [create] = engine.requests.filter(({ path }) => path === '/containers/create')
  const name = create?.query.get('name')
  expect(create?.body).toMatchObject({ Image: `${name}:1`, HostConfig: { StorageOpt: { size: '10000000000' } } })
  expect(engine.requests.filter(({ path }) => path.endsWith('/start'))).toEqual([])
  const removed = engine.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path)
  expect(removed).toEqual([`/containers/${name}`, `/networks/${name}`, `/images/${name}:1`])
})

it('finds that an engine limits no disks if its file system cannot', async () => {
  const message = "--storage-opt is supported only for overlay over xfs with 'pquota' mount option"
  const engine = await engineThat({ create: { status: 500, json: { message } } })
  expect(await limitsDisk(engine)).toBe(false)
  const removed = engine.requests.filter(({ method }) => method === 'DELETE')
  expect(removed.map(({ path }) => path)).toContainEqual(expect.stringMatching(/^\/images\/berth-probe-/))
})

it('believes no engine that has its images in containerd, which ignores limits', async () => {
  const engine = await engineThat({ info: { DriverStatus: [['driver-type', 'io.containerd.snapshotter.v1']] } })
  expect(await limitsDisk(engine)).toBe(false)
})

it('fails with what the engine says if it makes no containers at all', async () => {
  const engine = await engineThat({ create: { status: 500, json: { message: 'no space left on device' } } })
  await expect(limitsDisk(engine)).rejects.toThrow('no space left on device')
})
