// Rentals from the search to the destruction, on a real engine that the gateway reaches itself, or by an agent.

import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expireLeasesSql } from '../support/crashes/leases.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { docker } from '../support/engine/docker.ts'
import { waitFor } from '../support/engine/processes.ts'
import { type RealMarket, startRealMarket } from '../support/engine/real-market.ts'
import { freePort } from '../support/engine/registry.ts'
import { createRealRenter, type RealRenter } from '../support/engine/renter.ts'
import { createKeyPair, sshTo } from '../support/engine/ssh.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'
import { launch, list, profile, search } from '../support/rest/cluster-launcher.ts'
import { createWireClient } from '../support/rest/wire.ts'

let testDatabase: TestDatabase
let market: RealMarket
let key: string
let renter: RealRenter

async function start(agent: boolean): Promise<void> {
  testDatabase = await createDatabase()
  market = await startRealMarket(engine, {
    agent,
    facts: { country: 'US', datacenter: true },
    env: {
      ...{
        DATABASE_URL: testDatabase.url,
        BERTH_SECRET: 'a secret of these tests',
        SSH_PORT: String(await freePort()),
      },
    },
  })
  key = await market.newKey('renter@example.com')
  renter = createRealRenter(market, key)
}

async function stop(): Promise<void> {
  // The gateway may be about to remove what the last test has destroyed.
  await waitFor(async () => (await containers()) === '', 30_000)
  await market?.stop()
  await testDatabase?.drop()
}

const containers = () => docker(engine.folder, ['ps', '-a', '--format', '{{.Names}}'])
const isGone = (id: string) =>
  expect.poll(containers, { timeout: 30_000 }).not.toMatch(new RegExp(`-${id.replace('ins_', '')}$`, 'm'))

for (const agent of [false, true]) {
  describeWithEngine(`a rental on a real machine that ${agent ? 'an agent' : 'the gateway'} reaches`, () => {
    beforeAll(() => start(agent))
    afterAll(stop)

    it('runs a container with its environment, ports, volume and SSH until it is destroyed', async () => {
      const { read, change, becomes, login, loginByGateway } = renter
      const sshKey = await createKeyPair()
      await renter.register(sshKey)
      const seen = await renter.watchStatuses()
      const id = await renter.rent({
        source: { image: engine.images.tiny },
        mode: { ssh: { direct: true } },
        env: [{ name: 'GREETING', value: 'hello world' }],
        ports: [{ containerPort: 8000 }],
        onStart: 'echo "$GREETING" > /data/greeting; echo "said $GREETING"; httpd -p 8000 -h /data',
        volumes: [{ source: { create: { sizeGb: 1 } }, mountPath: '/data' }],
      })
      await seen(id, 'RUNNING')

      const { ports } = (await read(id)).connection
      const port = ports.find(({ containerPort }: { containerPort: number }) => containerPort === 8000).hostPort
      const served = async () => (await fetch(`http://127.0.0.1:${port}/greeting`)).text()
      await expect.poll(() => served().catch(() => ''), { timeout: 10_000 }).toBe('hello world\n')
      expect((await read(id)).logs).toContainEqual({ text: 'said hello world', source: 'STDOUT' })
      const command = 'echo kept >> /root/file; cat /data/greeting; exit 3'
      for (const log of [login, loginByGateway])
        expect(await log(id, sshKey, command)).toMatchObject({ stdout: 'hello world\n', code: 3 })

      const used = async () => (await read(id)).currentMetrics
      await expect.poll(used, { timeout: 40_000 }).toMatchObject({ sentMb: expect.any(Number), gpus: [] })
      const { sentMb } = await used()
      expect((await login(id, sshKey, 'yes | head -c 3000000')).stdout).toHaveLength(3_000_000)
      await expect.poll(async () => (await used())?.sentMb, { timeout: 40_000 }).toBeGreaterThan(sentMb + 2)

      await change(id, 'stop')
      await becomes(id, 'STOPPED')
      await change(id, 'start')
      await becomes(id, 'RUNNING')
      expect(await login(id, sshKey, 'cat /root/file')).toMatchObject({ stdout: 'kept\nkept\n', code: 0 })

      await change(id, 'destroy')
      await isGone(id)
      const volume = await docker(engine.folder, ['volume', 'ls', '-q'])
      const shown = [
        'run',
        '--rm',
        '-v',
        `${volume}:/data`,
        '--entrypoint',
        'cat',
        engine.images.tiny,
        '/data/greeting',
      ]
      expect(await docker(engine.folder, shown)).toBe('hello world')
      await docker(engine.folder, ['volume', 'rm', volume])
    }, 120_000)

    it('runs what a cluster launcher rents with its recorded requests over REST', async () => {
      const launcher = createWireClient(market.gateway().url, { ...profile, key })
      const sshKey = await createKeyPair()
      expect((await launcher.post('/ssh/', { ssh_key: sshKey.publicKey })).body).toMatchObject({ success: true })
      const { body: found } = await launcher.post('/bundles/', { ...search, cpu_ram: { gte: 1 } })
      const rented = await launcher.put(`/asks/${found.offers[0].id}/`, { ...launch, image: engine.images.tiny })
      const id = rented.body.new_contract
      const row = async () => (await launcher.get(list)).body.instances.find((one: { id: number }) => one.id === id)
      const becomes = (status: string) =>
        expect.poll(async () => (await row()).actual_status, { timeout: 30_000 }).toBe(status)
      const login = async () => {
        const { ssh_host: host, ssh_port: port } = await row()
        return await sshTo(
          { host, port },
          sshKey,
          'ls -A /root/.no_auto_tmux; date >> /root/dates; wc -l < /root/dates',
        )
      }
      await becomes('running')
      await expect.poll(async () => (await login()).stdout, { timeout: 10_000 }).toMatch(/^\/root\/.no_auto_tmux\n1$/m)
      expect((await launcher.put(`/instances/${id}/`, { state: 'stopped' })).body).toMatchObject({ success: true })
      await becomes('stopped')
      expect((await launcher.put(`/instances/${id}/`, { state: 'running' })).body).toMatchObject({ success: true })
      await becomes('running')
      expect(await login()).toMatchObject({ stdout: '/root/.no_auto_tmux\n2\n' })
      expect((await launcher.delete(`/instances/${id}/`, {})).body).toEqual({ success: true })
      expect(await row()).toBeUndefined()
      await isGone(String(id))
    }, 120_000)

    it('goes on after the gateway was killed', async () => {
      const id = await renter.rent({ source: { image: engine.images.tiny } })
      await market.restartGateway('SIGKILL')
      const database = new pg.Client({ connectionString: testDatabase.url })
      await database.connect()
      await database.query(expireLeasesSql)
      await database.end()
      await renter.becomes(id, 'RUNNING')
      await renter.change(id, 'destroy')
      await isGone(id)
    })

    if (agent) return

    it('tells why an image cannot be pulled', async () => {
      const id = await renter.rent({ source: { image: `${engine.registry.host}/missing:1` } })
      await renter.becomes(id, 'EXITED')
      expect((await renter.read(id)).statusReason).toMatchObject({ code: 'IMAGE_PULL_FAILED' })
      await renter.change(id, 'destroy')
    })

    it('gives a private image to who has its login, and to nobody else afterwards', async () => {
      const { host, username, password, image } = engine.registry
      const outcome = async ({ read, change }: RealRenter, id: string) => {
        const settled = ['RUNNING', 'EXITED']
        await expect.poll(async () => settled.includes((await read(id)).status), { timeout: 30_000 }).toBe(true)
        const { status, statusReason } = await read(id)
        await change(id, 'destroy')
        return [status, statusReason.message]
      }
      const source = { image }
      const refusal = 'The registry refused to give the image. Check the name of the image, and the registry login.'
      expect(await outcome(renter, await renter.rent({ source }))).toEqual(['EXITED', refusal])
      const wrong = { host, username, password: 'a wrong password' }
      expect(await outcome(renter, await renter.rent({ source, registry: wrong }))).toEqual(['EXITED', refusal])
      const login = { host, username, password }
      expect((await outcome(renter, await renter.rent({ source, registry: login })))[0]).toBe('RUNNING')
      const other = createRealRenter(market, await market.newKey('another-renter@example.com'))
      expect(await outcome(other, await other.rent({ source }))).toEqual(['EXITED', refusal])
    })

    it('records that a container ended by itself, at once', async () => {
      const id = await renter.rent({
        ...{ source: { image: engine.images.tiny }, mode: { args: { args: ['sh', '-c', 'sleep 3; exit 7'] } } },
      })
      await renter.becomes(id, 'EXITED')
      expect((await renter.read(id)).statusReason).toMatchObject({ message: expect.stringContaining('7') })
      await renter.change(id, 'destroy')
      await isGone(id)
    })
  })
}
