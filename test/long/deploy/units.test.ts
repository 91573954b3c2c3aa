// The units of docs/deploying.md, started by systemd as the page says.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { urlAs } from '../../support/database/roles.ts'
import { importDebian } from '../../support/deploy/debian.ts'
import { type Machine, startMachine } from '../../support/deploy/machine.ts'
import { deployObstacle } from '../../support/deploy/obstacle.ts'
import { createRenter, type Renter, untilReady } from '../../support/deploy/renter.ts'
import { snippetsOf } from '../../support/deploy/snippets.ts'
import { readPage } from '../../support/docs.ts'
import { docker } from '../../support/engine/docker.ts'
import { startEngine } from '../../support/engine/engine.ts'
import { waitFor } from '../../support/engine/processes.ts'
import { machine as facts } from '../../support/engine/real-market.ts'
import { freePorts } from '../../support/failover/programs.ts'

const obstacle = deployObstacle()
if (obstacle) process.stdout.write(`No unit of systemd was tried: ${obstacle}.\n`)

const image = 'berth.test/systemd:12'
const slowly = { timeout: 60_000, interval: 250 }
const command = 'node_modules/.bin/node --require ./src/require-node-24.cjs src/cli.ts'
/** The machine has no npm. */
const withoutNpm = ['npm run --silent berth --', command] as const
const secrets = 'DATABASE_URL_FILE=/etc/berth/database-url BERTH_SECRET_FILE=/etc/berth/berth-secret'

describe.skipIf(obstacle)('the units of systemd', () => {
  let engine: Awaited<ReturnType<typeof startEngine>>
  let database: TestDatabase
  let machine: Machine
  let folder: string
  let url: string
  let renter: Renter
  let instance: string

  beforeAll(async () => {
    engine = await startEngine()
    database = await createDatabase({ empty: true })
    folder = await mkdtemp(join(tmpdir(), 'berth-units-'))
    await importDebian(engine.folder, image, ['systemd', 'systemd-sysv', 'openssl'])
    machine = await startMachine(engine, image)
    expect(await waitFor(machine.isRunning, 60_000)).toBe(true)
    const [port] = await freePorts(1)
    url = `http://127.0.0.1:${port}`
    await put('/etc/berth/database-url', urlAs('owner', database.url))
    await put('/etc/berth/gateway.env', `PORT=${port}\nSIMULATED_DELAY=0\n`)
  })
  afterAll(async () => {
    await engine?.stop()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  })

  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') process.stdout.write(await machine.log())
  })

  async function put(path: string, text: string): Promise<void> {
    const file = join(folder, 'file')
    await writeFile(file, text)
    await machine.run(`mkdir -p $(dirname ${path})`)
    await machine.put(file, path)
  }
  const berth = async (words: string) => JSON.parse(await machine.run(`${secrets} ${command} ${words}`))
  const read = async (unit: string, property: string) =>
    await machine.run(`systemctl show --value --property ${property} ${unit}`)
  const processOf = async (unit: string) =>
    await machine.run(`cat /proc/$(systemctl show --value --property MainPID ${unit})/status`)
  const kill = async (unit: string) => await machine.run(`kill -9 $(systemctl show --value --property MainPID ${unit})`)

  it.each(['berth', 'berth-host'])('%s.service has no fault, and the exposure that the page says', async unit => {
    expect(await machine.run(`systemd-analyze verify docs/deploy/${unit}.service 2>&1 | grep ${unit} || true`)).toBe('')
    const printed = await machine.run(
      `systemd-analyze security --no-pager --offline=true docs/deploy/${unit}.service || true`,
    )
    const [, exposure] = /Overall exposure level for \S+: (\d+\.\d)/.exec(printed) ?? []
    expect(readPage('docs/deploying.md')).toContain(`\`systemd-analyze security ${unit}\` gives ${exposure}`)
  })

  describe('a gateway', () => {
    const [start = '', makeAccount = ''] = snippetsOf('## A gateway with systemd', [withoutNpm])

    it('starts as the page says, and serves a renter', async () => {
      await machine.run(start)
      await untilReady(url)
      const { apiKey } = JSON.parse(await machine.run(makeAccount))
      await berth('market generate --machines 5')
      renter = createRenter(url, apiKey)
      instance = await renter.rent()
    })

    it('works as a user of its own without any power, and has its secrets in no environment', async () => {
      const status = await processOf('berth')
      expect(status).toMatch(/^Uid:\t6\d{4}\t/m)
      for (const line of [/^CapBnd:\t0+$/m, /^CapEff:\t0+$/m, /^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m])
        expect(status).toMatch(line)
      const environment = await machine.run('cat /proc/$(systemctl show --value --property MainPID berth)/environ')
      expect(environment).toContain('BERTH_SECRET_FILE=/run/credentials/berth.service/berth-secret')
      expect(environment).not.toContain('postgresql://')
      expect(await machine.run('stat --format %a /etc/berth/berth-secret /etc/berth/database-url')).toBe('600\n600')
    })

    it('stops in time, and has everything when it starts again', async () => {
      await machine.run('systemctl stop berth')
      expect([await read('berth', 'Result'), await read('berth', 'ExecMainStatus')]).toEqual(['success', '0'])
      await machine.run('systemctl start berth')
      await untilReady(url)
      expect(await renter.statusOf(instance)).toBe('RUNNING')
    })

    it('is started again after a crash', async () => {
      await kill('berth')
      await expect.poll(() => read('berth', 'NRestarts'), slowly).toBe('1')
      await untilReady(url)
      expect(await renter.statusOf(instance)).toBe('RUNNING')
      await renter.destroy(instance)
    })
  })

  describe('a host', () => {
    const containers = async () =>
      (await docker(engine.folder, ['ps', '--quiet', '--filter', `ancestor=${engine.images.tiny}`]))
        .split('\n')
        .filter(Boolean)
    const untilConnected = () =>
      expect.poll(
        () =>
          machine.run('journalctl --unit berth-host --output cat --since -1h | grep -c "host is connected" || true'),
        slowly,
      )

    it('joins and starts as the page says, and runs a container', async () => {
      await put('/root/machine.json', JSON.stringify([facts]))
      await berth('machine import --file /root/machine.json --host ada@example.com')
      const listed = await machine.run(`${secrets} ${command} machine list --host ada@example.com`)
      const { id } = JSON.parse(listed)
      const { token } = await berth(`machine invite --id ${id} --gpu-access none`)
      const [join = '', start = ''] = snippetsOf('## A host with systemd', [withoutNpm])
      const [makeUser = '', ...joining] = join.trimEnd().split('\n')
      // What Docker's package makes.
      await machine.run(`groupadd --system docker && chgrp docker /run/docker.sock && ${makeUser}`)
      await machine.put(engine.toolbox, '/root/toolbox.tar')
      await machine.run(
        `install -D -m 644 /root/toolbox.tar /var/lib/berth-host/host/toolbox.tar && chown -R berth:berth /var/lib/berth-host`,
      )
      await machine.run(`GATEWAY=${url} TOKEN=${token}
        ${joining.join('\n')} > /tmp/join.log 2>&1 & host=$!
        until grep -q 'has joined' /tmp/join.log; do sleep 0.2; kill -0 $host || { cat /tmp/join.log; exit 1; }; done
        kill $host; wait $host || true`)
      await machine.run(start)
      await untilConnected().toBe('1')
      const filter = { machineId: { eq: String(id) } }
      instance = await renter.rent({ image: engine.images.tiny, filter })
      expect(await containers()).toHaveLength(1)
    })

    it('works as its user without any power but that over the engine', async () => {
      const status = await processOf('berth-host')
      for (const line of [
        /^Uid:\t[1-9]\d*\t/m,
        /^CapBnd:\t0+$/m,
        /^CapEff:\t0+$/m,
        /^NoNewPrivs:\t1$/m,
        /^Seccomp:\t2$/m,
      ])
        expect(status).toMatch(line)
    })

    it('is connected again after a stop and after a crash, and the container goes on', async () => {
      const [before] = await containers()
      await machine.run('systemctl restart berth-host')
      await untilConnected().toBe('2')
      await kill('berth-host')
      await untilConnected().toBe('3')
      expect(await containers()).toEqual([before])
      expect(await renter.statusOf(instance)).toBe('RUNNING')
      await renter.destroy(instance)
      await expect.poll(containers, slowly).toEqual([])
    })
  })
})
