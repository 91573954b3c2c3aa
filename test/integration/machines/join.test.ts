// How hosts join: what a token and a key are good for, and who is refused.

import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { EngineFacts } from '../../../src/domain/machines/inspection.ts'
import { chooseHost } from '../../../src/host/choose-key.ts'
import { joinHost } from '../../../src/host/join.ts'
import { keepHost, readHost } from '../../../src/host/key-file.ts'
import { inspectEngine } from '../../../src/providers/docker/inspection/engine-facts.ts'
import { engineOperations } from '../../../src/services/machines/engines/connect.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { engineFacts, joinAsHost, measureNothing, openNothing } from '../../support/machines/hosts.ts'
import { serveApp } from '../../support/streams.ts'

let app: TestApp
let server: Awaited<ReturnType<typeof serveApp>>
let machineId = 0

beforeAll(async () => {
  app = await startApp()
  server = await serveApp(app)
})

afterAll(async () => {
  await server.close()
  await app.close()
})

beforeEach(async () => {
  machineId += 1
  await listMachines(app.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
})

const invite = async (gpuAccess: 'none' | 'nvidia' | null = 'none', validMs = 3_600_000) =>
  (await app.operations.machines.invite(machineId, { gpuAccess, validMs })).token
const engine = async () => (await app.sql('SELECT * FROM engines WHERE machine_id = $1', [machineId]))[0]
const agent = async () => (await app.sql('SELECT * FROM agents WHERE machine_id = $1', [machineId]))[0]

describe('a token', () => {
  it('lets one host join, whose key the database does not know', async () => {
    const token = await invite()
    const host = await joinAsHost(server.url, { token })
    expect(host.machineId).toBe(machineId)
    expect(await engine()).toMatchObject({ url: null, tls: null, gpu_access: 'none', identity: `engine of ${token}` })
    expect(JSON.stringify([await agent(), await app.sql('SELECT * FROM host_invites')])).not.toContain(
      host.key.slice(12),
    )
    expect(await app.operations.machines.byId(machineId)).toMatchObject({ engine: 'agent' })
  })

  it('lets a host join that does not say whether it limits disks, and promises nothing for it', async () => {
    const { limitsDisk, ...older } = engineFacts('older')
    await joinAsHost(server.url, { token: await invite(), facts: older as EngineFacts })
    expect(limitsDisk).toBe(true)
    expect(await app.operations.machines.byId(machineId)).toMatchObject({ engine: 'agent', limitsDisk: false })
    await joinAsHost(server.url, { token: await invite(), facts: engineFacts('older') })
    expect(await app.operations.machines.byId(machineId)).toMatchObject({ engine: 'agent', limitsDisk: true })
  })

  it('is used by one of several hosts at the same time', async () => {
    const token = await invite()
    const joined = await Promise.allSettled([1, 2, 3, 4, 5].map(() => joinAsHost(server.url, { token })))
    expect(joined.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const one of joined)
      if (one.status === 'rejected') expect(String(one.reason)).toContain('The token is not valid')
  })

  it.each<[string, () => Promise<string>]>([
    [
      'was used',
      async () => {
        const token = await invite()
        await joinAsHost(server.url, { token })
        return token
      },
    ],
    [
      'has expired',
      async () => {
        const token = await invite('none', 60_000)
        app.clock.advance(60_001)
        return token
      },
    ],
    [
      'was replaced',
      async () => {
        const token = await invite()
        await invite()
        return token
      },
    ],
    ['never existed', async () => `berth_invite_${'A'.repeat(43)}`],
  ])('is refused when it %s', async (_, makeToken) => {
    const token = await makeToken()
    const before = await agent()
    await expect(joinAsHost(server.url, { token })).rejects.toThrow('"machine invite" makes another.')
    expect(await agent()).toEqual(before)
  })

  it('can be used again after the host was refused', async () => {
    const token = await invite()
    const facts = engineFacts('small', { cpuCores: 8 })
    await expect(joinAsHost(server.url, { token, facts })).rejects.toThrow(
      'cpuCores: is 64, but the engine has 8 cores.',
    )
    expect(await engine()).toBeUndefined()
    await joinAsHost(server.url, { token, facts: engineFacts('large') })
    expect(await engine()).toMatchObject({ identity: 'large' })
  })
})

describe('a host', () => {
  it('needs GPUs, unless the operator allows it to have none', async () => {
    const token = await invite(null)
    await expect(joinAsHost(server.url, { token })).rejects.toThrow('nvidia-smi shows none on this host')
    const gpuUuids = ['GPU-6a1f3c52-0000-1111-2222-333344445555']
    await joinAsHost(server.url, { token, gpuUuids })
    expect(await engine()).toMatchObject({ gpu_access: 'nvidia', gpu_uuids: gpuUuids })
  })

  it('is refused with more or fewer GPUs than the machine has', async () => {
    const token = await invite('nvidia')
    const gpuUuids = ['GPU-00000001', 'GPU-00000002']
    await expect(joinAsHost(server.url, { token, gpuUuids })).rejects.toThrow('gpus: are 1, but 2 UUIDs are given.')
  })

  it('is refused with less memory in a GPU than the machine promises', async () => {
    const token = await invite('nvidia')
    const gpuUuids = ['GPU-00000001']
    await expect(joinAsHost(server.url, { token, gpuUuids, gpuMemoryMb: 12_288 })).rejects.toThrow(
      'gpuRamMb: is 24564, but nvidia-smi shows a GPU with 12288 MiB of memory.',
    )
    await joinAsHost(server.url, { token, gpuUuids, gpuMemoryMb: 22_500 })
    expect(await engine()).toMatchObject({ gpu_uuids: gpuUuids })
  })

  it('does not get the engine of another machine', async () => {
    const facts = engineFacts('shared')
    await joinAsHost(server.url, { token: await invite(), facts })
    machineId += 1
    await listMachines(app.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
    await expect(joinAsHost(server.url, { token: await invite(), facts })).rejects.toThrow(
      'Another machine has this engine',
    )
  })

  it('may join with another key while the machine has instances, if its engine is the same', async () => {
    await joinAsHost(server.url, { token: await invite(), facts: engineFacts('first') })
    const before = await engine()
    const key = await app.newKey(null, { creditNanos: 100_000_000_000n })
    const [offer] = (await app.sql('SELECT id FROM offers WHERE machine_id = $1', [machineId])) as { id: string }[]
    expect(await app.rest(key, 'PUT', `/asks/${offer?.id}/`, { image: 'ubuntu' })).toMatchObject({ status: 200 })
    const looks = await app.sql('SELECT agent_machine_id FROM instance_looks ORDER BY instance_id DESC LIMIT 1')
    expect(looks).toEqual([{ agent_machine_id: machineId }])
    const token = await invite()
    await expect(joinAsHost(server.url, { token, facts: engineFacts('other') })).rejects.toThrow('still has 1 instance')
    await joinAsHost(server.url, { token, facts: engineFacts('first') })
    expect(await engine()).toMatchObject({ mark: (before as { mark: string }).mark })
  })

  it('is refused with the key of another machine', async () => {
    const { key } = await joinAsHost(server.url, { token: await invite() })
    machineId += 1
    await listMachines(app.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
    const response = await fetch(`${server.url}/host/join`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await invite()}` },
      body: JSON.stringify({ key, facts: engineFacts('engine of a copied folder'), gpuUuids: [] }),
    })
    expect([response.status, await response.json()]).toEqual([
      409,
      { success: false, error: 'conflict', msg: 'Another machine has the key of this host. Join again with another.' },
    ])
    expect(await engine()).toBeUndefined()
  })

  it('sends nonsense in vain', async () => {
    const send = (body: unknown, token: string) =>
      fetch(`${server.url}/host/join`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
    const token = await invite()
    const key = `berth_host_${'k'.repeat(43)}`
    const facts = engineFacts('liar')
    for (const body of [
      '',
      '[]',
      {},
      { key: 'short', facts, gpuUuids: [] },
      { key, facts: { ...facts, cpuCores: 1e12 } },
    ])
      expect((await send(body, token)).status).toBe(400)
    expect((await send('x'.repeat(200_000), token)).status).toBe(413)
    expect((await send({ key, facts, gpuUuids: [] }, 'no token')).status).toBe(401)
    expect(await engine()).toBeUndefined()
  })
})

describe('the folder of a host', () => {
  let folder: string
  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'berth-host-')), 'host')
  })

  const joinIn = async (token: string, gateway = server.url) =>
    await joinHost({
      ...{ gateway, token, engine: 'unix:///run/docker.sock', folder },
      inspect: async () => engineFacts(`engine ${machineId}`),
      readGpus: async () => [],
      openPorts: openNothing,
      measureSpeeds: measureNothing,
    })

  type Asked = { method: string; url: string; authorization: string; body: string }

  async function serveAnswers(answer: (response: ServerResponse, asked: Asked) => unknown): Promise<string> {
    const other = createServer(async (request, response) => {
      const { method = '', url = '', headers } = request
      answer(response, { method, url, authorization: headers.authorization ?? '', body: await text(request) })
    })
    await once(other.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void other.close())
    return `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  }

  it('keeps the key for its owner alone', async () => {
    const { machineId: joined, facts, warnings, ...host } = await joinIn(await invite())
    expect(await readHost(folder)).toEqual(host)
    expect((await stat(join(folder, 'host.json'))).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect(await readdir(folder)).toEqual(['host.json'])
    await rm(folder, { recursive: true })
  })

  it('keeps the earlier key when a later token is refused', async () => {
    await joinIn(await invite())
    const before = await readFile(join(folder, 'host.json'), 'utf8')
    await expect(joinIn(`berth_invite_${'A'.repeat(43)}`)).rejects.toThrow('The token is not valid')
    expect(await readFile(join(folder, 'host.json'), 'utf8')).toBe(before)
    await rm(folder, { recursive: true })
  })

  it('has no key after a first token that is refused', async () => {
    await expect(joinIn(`berth_invite_${'A'.repeat(43)}`)).rejects.toThrow('The token is not valid')
    await expect(readHost(folder)).rejects.toThrow('has not joined')
  })

  it('keeps the earlier key, and goes on with it, when nothing answers at a later address', async () => {
    const { facts, machineId: joined, warnings, ...before } = await joinIn(await invite())
    const wrong = 'http://127.0.0.1:1'
    for (let tries = 0; tries < 6; tries += 1)
      await expect(joinIn(await invite(), wrong)).rejects.toThrow(`${wrong} does not answer`)
    const { asked, ...kept } = await readHost(folder)
    expect(kept).toEqual(before)
    expect(asked).toEqual(Array.from({ length: 4 }, () => ({ ...before, gateway: wrong, key: expect.any(String) })))
    expect(await chooseHost(folder)).toEqual(before)
    expect((await readHost(folder)).asked).toHaveLength(4)
    const { facts: _, machineId: again, warnings: said, ...after } = await joinIn(await invite())
    expect(await readHost(folder)).toEqual(after)
  })

  it('goes on with the earlier key when something else answers at a later address', async () => {
    const { facts, machineId: joined, warnings, ...before } = await joinIn(await invite())
    for (const [status, text] of [
      [502, 'Bad gateway'],
      [404, '<html>'],
      [200, '{}'],
    ] as const) {
      const gateway = await serveAnswers(response => void response.writeHead(status).end(text))
      await expect(joinIn(await invite(), gateway)).rejects.toThrow(`answered ${status}`)
      expect(await chooseHost(folder)).toEqual(before)
    }
  })

  it('goes on with the new key when the answer that it is good was lost', async () => {
    await joinIn(await invite())
    const token = await invite()
    const gateway = await serveAnswers(async (response, { method, url, authorization, body }) => {
      const answer = await fetch(`${server.url}${url}`, { method, headers: { authorization }, ...(body && { body }) })
      if (method === 'POST') return void response.destroy()
      response.writeHead(answer.status).end(await answer.text())
    })
    await expect(joinIn(token, gateway)).rejects.toThrow('does not answer')
    const [joined] = (await readHost(folder)).asked ?? []
    expect(await chooseHost(folder)).toEqual(joined)
    expect(await readHost(folder)).toEqual(joined)
  })

  it('forgets the key of a join without an answer that its gateway does not know', async () => {
    const { facts, machineId: joined, warnings, ...before } = await joinIn(await invite())
    await keepHost(folder, { ...before, asked: [{ ...before, key: `berth_host_${'k'.repeat(43)}` }] })
    expect(await chooseHost(folder)).toEqual(before)
    expect(await readHost(folder)).toEqual(before)
  })

  it.each([
    ['http://berth.example.com', 'must be https://'],
    ['https://user:password@berth.example.com', 'must have no user and no password'],
  ])('gets no key for the gateway %s', async (gateway, message) => {
    const options = {
      token: await invite(),
      engine: 'unix:///x',
      folder,
      readGpus: async () => [],
      openPorts: openNothing,
      measureSpeeds: measureNothing,
    }
    const joining = joinHost({ ...options, gateway, inspect: async () => engineFacts('x') })
    await expect(joining).rejects.toThrow(message)
    await expect(readHost(folder)).rejects.toThrow('has not joined')
  })

  it('gets no key while the engine does not answer, and the message says what to do', async () => {
    const engine = `unix://${folder}/docker.sock`
    const inspect = (url: string) => inspectEngine({ url, tls: null })
    const options = {
      gateway: server.url,
      token: await invite(),
      folder,
      readGpus: async () => [],
      openPorts: openNothing,
      measureSpeeds: measureNothing,
    }
    await expect(joinHost({ ...options, engine, inspect })).rejects.toThrow(
      `${engine} does not answer (ENOENT). Start Docker, and join as a user that may open its socket.`,
    )
    await expect(readHost(folder)).rejects.toThrow('has not joined')
  })
})

describe('the key of a host', () => {
  const operations = () =>
    engineOperations({
      database: gateway.database,
      secrets: async () => createSecrets('a secret of tests'),
      inspectEngine: async () => engineFacts(`engine ${machineId}`),
    })
  const ask = async (key: string) =>
    (await fetch(`${server.url}/host/toolbox`, { headers: { authorization: `Bearer ${key}` } })).status
  const joined = async () =>
    await joinAsHost(server.url, { token: await invite(), facts: engineFacts(`engine ${machineId}`) })
  let gateway: Gateway

  beforeAll(() => {
    gateway = openGateway({ url: app.database.url, now: app.clock.now })
  })
  afterAll(() => gateway.close())

  it('ends when the machine is disconnected, or its engine gets an address', async () => {
    const first = await joined()
    expect(await ask(first.key)).toBe(404)
    await operations().connect(machineId, {
      url: 'unix:///run/docker.sock',
      tls: null,
      gpuAccess: 'none',
      gpuUuids: [],
    })
    expect(await ask(first.key)).toBe(401)
    expect(await engine()).toMatchObject({ url: 'unix:///run/docker.sock' })
    const second = await joined()
    expect(await ask(second.key)).toBe(404)
    await operations().disconnect(machineId)
    expect([await ask(second.key), await engine(), await agent()]).toEqual([401, undefined, undefined])
  })
})

it('never leaves an engine with neither an address nor an agent', async () => {
  await joinAsHost(server.url, { token: await invite() })
  await expect(app.sql('DELETE FROM agents WHERE machine_id = $1', [machineId])).rejects.toThrow(
    'needs either an address or an agent',
  )
  await expect(app.sql(`UPDATE engines SET url = 'unix:///x' WHERE machine_id = ${machineId}`)).rejects.toThrow(
    'needs either',
  )
})
