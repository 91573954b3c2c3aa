import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { findFirewallGaps } from '../../src/providers/docker/inspection/firewall.ts'
import { ContainerNotRunning, MachineUnreachable, PortTaken } from '../../src/providers/provider.ts'
import { blocksOf, readPage } from '../support/docs.ts'
import { docker } from '../support/engine/docker.ts'
import { createDriver, listMarked, removeAll } from '../support/engine/driver.ts'
import { createRental, startRental } from '../support/engine/rental.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

const signal = () => AbortSignal.timeout(20_000)

describeWithEngine('a container of the Docker driver', () => {
  afterAll(() => removeAll(engine))
  const provider = engine && createDriver(engine)

  it('reaches the other containers of its account, and no container of another account', async () => {
    const server = await startRental(engine, provider, { launch: { onStart: 'nc -ll -p 8080 -e hostname' } })
    const address = await server.exec('hostname -i')
    const ask = `nc -w 3 ${address} 8080 </dev/null`
    const name = `berth-${server.spec.instanceId}`
    const neighbor = await startRental(engine, provider)
    await expect.poll(() => neighbor.exec(ask)).toBe(name)
    const stranger = await startRental(engine, provider, { accountId: 2 })
    expect(await stranger.exec(`${ask} || echo refused`)).toContain('refused')
  })

  it('reaches neither the host nor its metadata with the rules of docs/hosts.md', async () => {
    const host = createServer(socket => socket.on('error', () => {}).end('the host')).listen(0, '0.0.0.0')
    onTestFinished(() => void host.close())
    await once(host, 'listening')
    const { port } = host.address() as { port: number }
    const rental = await startRental(engine, provider, { launch: { onStart: 'nc -ll -p 8080 -e hostname' } })
    const gateway = await rental.exec("ip route | sed -n 's/^default via \\([^ ]*\\).*/\\1/p'")
    const ask = (address: string) => rental.exec(`nc -w 2 ${address} ${port} </dev/null || echo refused`)
    expect(await ask(gateway)).toBe('the host')
    const findGaps = () => findFirewallGaps({ url: engine.url, tls: null }, () => readFile(engine.toolbox))
    expect(await findGaps()).toContainEqual(expect.stringContaining('Containers reach their host.'))
    const rules = blocksOf(readPage('docs/hosts.md'), 'sh firewall').join('').trim().split('\n')
    expect(rules).toHaveLength(2)
    for (const rule of rules) {
      execFileSync('sh', ['-c', rule])
      onTestFinished(() => void execFileSync('sh', ['-c', rule.replace('-I', '-D')]))
    }
    const dropped = () => execFileSync('iptables', ['-nvL', 'DOCKER-USER'], { encoding: 'utf8' })
    expect(await ask(gateway)).toContain('refused')
    expect(dropped()).toMatch(/ 0 +0 DROP/)
    expect(await ask('169.254.169.254')).toContain('refused')
    expect(dropped()).not.toMatch(/ 0 +0 DROP/)
    expect(await findGaps()).toEqual([])
    for (const list of [
      ['ps', '-aq'],
      ['network', 'ls', '-q'],
    ])
      expect(await docker(engine.folder, [...list, '--filter', 'name=berth-probe'])).toBe('')
    expect(await docker(engine.folder, ['images', '-q', 'berth-probe-*'])).toBe('')
    const neighbor = await startRental(engine, provider)
    const address = await rental.exec('hostname -i')
    expect(await neighbor.exec(`nc -w 3 ${address} 8080 </dev/null`)).toBe(`berth-${rental.spec.instanceId}`)
    const published = connect(rental.spec.ports[0]?.hostPort ?? 0, '127.0.0.1')
    const [banner] = await published.setEncoding('utf8').take(1).toArray()
    expect(banner).toContain('SSH-2.0')
    published.destroy()
  })

  it('answers at its public port', async () => {
    const { spec } = await startRental(engine, provider)
    const socket = connect(spec.ports[0]?.hostPort ?? 0, '127.0.0.1')
    const [banner] = await socket.setEncoding('utf8').take(1).toArray()
    expect(banner).toContain('SSH-2.0')
    socket.destroy()
  })

  it('keeps a volume when it is removed, until the volume is', async () => {
    const volumes = [{ volumeId: 9n, mountPath: '/data' }]
    const first = await startRental(engine, provider, { volumes })
    await first.exec('echo kept >/data/file')
    await provider.removeVolume(1, 9n, signal())
    await first.remove()
    const second = await startRental(engine, provider, { volumes })
    expect(await second.exec('cat /data/file')).toBe('kept')
    await second.remove()
    expect((await provider.inventory(1, signal())).volumeIds).toEqual([9n])
    await provider.removeVolume(1, 9n, signal())
    await provider.removeVolume(1, 9n, signal())
    expect((await provider.inventory(1, signal())).volumeIds).toEqual([])
  })

  it('runs the entrypoint of its image in args mode', async () => {
    const launch = { mode: 'args', args: ['sleep', '600', 'a b'].slice(0, 2) } as const
    const rental = await startRental(engine, provider, { launch: { ...launch, args: [...launch.args] } })
    await expect.poll(() => rental.logTexts()).toEqual(['entrypoint: 2 arguments: [sleep] [600]'])
    expect(await rental.exec('echo a shell')).toBe('a shell')
  })

  it('runs an image without a shell', async () => {
    const rental = await startRental(engine, provider, { launch: { image: engine.images.scratch } })
    expect(await rental.exec('id -u')).toBe('0')
    expect(await rental.stop()).toMatchObject({ state: 'stopped' })
  })

  it('hides its variables from sessions, and shows them to its script', async () => {
    const env = [
      { name: 'TOKEN', value: 'two words' },
      { name: 'NVIDIA_VISIBLE_DEVICES', value: 'all' },
    ]
    const onStart = 'echo "$TOKEN $NVIDIA_VISIBLE_DEVICES $BERTH_API_KEY"'
    const rental = await startRental(engine, provider, { launch: { env, onStart } })
    await expect.poll(() => rental.logTexts()).toContain('two words void a key')
    expect(await rental.exec('env')).not.toContain('TOKEN')
  })

  it('fails to start with a command that its image does not have', async () => {
    const image = 'berth.test/broken:1'
    const id = await docker(engine.folder, ['create', engine.images.tiny])
    await docker(engine.folder, ['commit', '--change', 'ENTRYPOINT ["/none"]', id, image])
    await docker(engine.folder, ['rm', id])
    const rental = createRental(engine, provider, { launch: { image, mode: 'args' } })
    expect(await rental.prepare()).toMatchObject({ state: 'prepared' })
    const failed = {
      state: 'failed',
      code: 'START_FAILED',
      message: 'The image cannot run the command of the container.',
    }
    await rental.start()
    await expect.poll(() => rental.observe()).toEqual(failed)
    expect(await rental.observe(createDriver(engine))).toEqual(failed)
    await rental.remove()
    expect(await rental.observe()).toEqual({ state: 'absent' })
  })

  it('fails to start on an engine that has no GPUs, and leaves nothing', async () => {
    const gpuUuids = ['GPU-00000000-0000-0000-0000-000000000000']
    const withGpus = createDriver(engine, { mark: 'gpus', gpuAccess: 'nvidia', gpuUuids })
    const rental = createRental(engine, withGpus)
    expect(await rental.prepare()).toMatchObject({ state: 'prepared' })
    const message = 'The machine did not give the container its GPUs.'
    expect(await rental.start()).toEqual({ state: 'failed', code: 'START_FAILED', message, fault: 'machine' })
    await rental.remove()
    expect(await rental.observe()).toEqual({ state: 'absent' })
    for (const words of [
      ['ps', '--all'],
      ['volume', 'ls'],
      ['network', 'ls'],
    ]) {
      expect(await listMarked(engine.folder, 'gpus', ...words)).toEqual([])
    }
  })

  it('leaves no network when it could not be made, or when a gateway died after it', async () => {
    const other = createDriver(engine, { mark: 'networks' })
    const listNetworks = () => listMarked(engine.folder, 'networks', 'network', 'ls')
    const broken = createRental(engine, other, { accountId: 55, volumes: [{ volumeId: 3n, mountPath: '/proc/../' }] })
    expect(await broken.prepare()).toMatchObject({ state: 'failed' })
    await broken.remove()
    expect(await listNetworks()).toEqual([])
    const lost = createRental(engine, other, { accountId: 56 })
    await lost.prepare()
    await docker(engine.folder, ['rm', '--force', `berth-networks-${lost.spec.instanceId}`])
    expect(await listNetworks()).toHaveLength(1)
    await createRental(engine, other, { accountId: 57 }).remove()
    expect(await listNetworks()).toEqual([])
    await removeAll(engine, 'networks')
  })

  it('fails at once on an engine that has no free range of addresses', async () => {
    await removeAll(engine)
    const { folder } = engine
    await docker(folder, ['network', 'create', '--subnet', '198.18.128.0/17', 'all-ranges'])
    onTestFinished(async () => void (await docker(folder, ['network', 'rm', 'all-ranges']).catch(() => {})))
    const rental = createRental(engine, provider)
    const message = 'The machine has no free network for another account.'
    const failure = { code: 'START_FAILED', message, fault: 'machine' }
    expect(await rental.prepare()).toEqual({ state: 'failed', ...failure })
    await docker(folder, ['network', 'rm', 'all-ranges'])
    await rental.remove()
    expect(await rental.prepare()).toMatchObject({ state: 'prepared' })
  })

  it('starts once its port is free', async () => {
    const first = await startRental(engine, provider)
    const second = createRental(engine, provider, { ports: first.spec.ports })
    await second.prepare()
    await expect(second.start()).rejects.toThrow(PortTaken)
    expect(await second.observe()).toMatchObject({ state: 'prepared' })
    await first.remove()
    expect(await second.start()).toMatchObject({ state: 'running' })
  })

  it('is made by one of two gateways that prepare it at once', async () => {
    const rental = createRental(engine, provider)
    const other = createDriver(engine)
    await Promise.all([provider.ensure(rental.spec, signal()), other.ensure(rental.spec, signal())])
    await expect
      .poll(() => Promise.all([rental.observe(), rental.observe(other)]))
      .toMatchObject([{ state: 'prepared' }, { state: 'prepared' }])
    await expect.poll(async () => (await listMarked(engine.folder, 'test', 'ps', '--all')).length).toBe(1)
    expect(await rental.start()).toMatchObject({ state: 'running' })
  })

  it('counts as absent when a gateway died while it made it', async () => {
    const rental = createRental(engine, provider)
    const { instanceId } = rental.spec
    const labels = ['--label', 'berth.mark=test', '--label', `berth.instance=${instanceId}`]
    await docker(engine.folder, ['create', ...labels, '--name', `berth-test-${instanceId}-making`, engine.images.tiny])
    expect(await rental.observe()).toEqual({ state: 'absent' })
    expect(await rental.prepare()).toMatchObject({ state: 'prepared' })
    expect(await rental.start()).toMatchObject({ state: 'running' })
  })

  it('is not that of another account whose instance got the same id from a restored database', async () => {
    const volumes = [{ volumeId: 78n, mountPath: '/data' }]
    const before = await startRental(engine, provider, { volumes })
    const { instanceId } = before.spec
    const after = createRental(engine, provider, { instanceId, accountId: 2 })
    expect(await after.observe()).toEqual({ state: 'absent' })
    expect(await after.logTexts()).toEqual([])
    await expect(after.exec('id')).rejects.toThrow(ContainerNotRunning)
    expect(await after.prepare()).toMatchObject({ state: 'failed', code: 'START_FAILED' })
    await after.remove()
    expect(await before.observe()).toMatchObject({ state: 'running' })
    const other = createRental(engine, provider, { accountId: 2, volumes })
    expect(await other.prepare()).toMatchObject({ state: 'failed', code: 'START_FAILED' })
    await before.remove()
    expect(await after.prepare()).toMatchObject({ state: 'prepared' })
    await after.remove()
    await provider.removeVolume(1, 78n, signal())
  })

  it('is not seen by a driver with another mark', async () => {
    const rental = await startRental(engine, provider)
    const other = createDriver(engine, { mark: 'other' })
    expect(await rental.observe(other)).toEqual({ state: 'absent' })
    await other.remove(rental.ref, signal())
    expect((await other.inventory(1, signal())).instanceIds).toEqual([])
    expect(await rental.observe()).toMatchObject({ state: 'running' })
  })

  it('is reported when it ends by itself', async () => {
    const changed: bigint[] = []
    const watching = new AbortController()
    const watched = provider.watch(1, id => changed.push(id), watching.signal)
    const launch = { onStart: 'sleep 1; kill -TERM 1' }
    const rental = await startRental(engine, provider, { launch: { ...launch } })
    changed.length = 0
    await expect.poll(() => changed).toContain(rental.spec.instanceId)
    expect(await rental.observe()).toMatchObject({ state: 'exited', exitCode: 0, endedAt: expect.any(Date) })
    expect(await rental.start()).toMatchObject({ state: 'running' })
    watching.abort()
    await watched
  })

  it('is limited to its share, as far as the machine has that much', async () => {
    const share = { cpus: 0.5, memoryMb: 64 }
    const small = await startRental(engine, provider, { share })
    const inspect = (format: string, id: bigint) =>
      docker(engine.folder, ['inspect', '--format', format, `berth-test-${id}`])
    const format = '{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}'
    expect(await inspect(format, small.spec.instanceId)).toBe('500000000 64000000 64000000')
    const huge = createRental(engine, provider, { share: { cpus: 1_000, memoryMb: 1_000_000_000 } })
    expect(await huge.prepare()).toMatchObject({ state: 'prepared' })
    const total = await docker(engine.folder, ['info', '--format', '{{.MemTotal}}'])
    expect(await inspect(format, huge.spec.instanceId)).toBe(`0 ${total} ${total}`)
  })
})

describeWithEngine('a private image', () => {
  afterAll(() => removeAll(engine))
  const provider = engine && createDriver(engine)
  const launch = { image: engine?.registry.image ?? '' }
  const login = (password: string) => ({ host: engine.registry.host, username: engine.registry.username, password })
  const refused = { state: 'failed', code: 'IMAGE_PULL_FAILED', message: expect.stringContaining('login') }

  it('is pulled with its login only, even when it is on the machine', async () => {
    const [right, wrong] = [login(engine.registry.password), login('wrong')]
    expect(await createRental(engine, provider, { launch, registry: wrong }).prepare()).toMatchObject(refused)
    const owner = createRental(engine, provider, { launch, registry: right })
    expect(await owner.prepare()).toMatchObject({ state: 'prepared' })
    expect(await owner.start()).toMatchObject({ state: 'running' })
    for (const registry of [undefined, wrong, { ...right, host: 'registry.test' }]) {
      const stranger = createRental(engine, provider, { launch, registry })
      expect(await stranger.prepare()).toMatchObject(refused)
      expect(await stranger.prepare()).toMatchObject(refused)
      await stranger.remove()
      expect(await stranger.observe()).toEqual({ state: 'absent' })
    }
  })

  it('fails when there is none of its name', async () => {
    const image = `${engine.registry.host}/private/none:1`
    const rental = createRental(engine, provider, { launch: { image }, registry: login(engine.registry.password) })
    expect(await rental.prepare()).toMatchObject({ ...refused, message: expect.stringContaining('no such image') })
  })
})

describeWithEngine('a renter who is root in his container', () => {
  afterAll(() => removeAll(engine))
  const provider = engine && createDriver(engine)

  it.each([
    ['removes the toolbox', 'rm -rf /.berth'],
    [
      'prints what the entrypoint prints',
      'echo "[berth] starting" >/proc/1/fd/1; echo "[berth] stopping" >/proc/1/fd/1',
    ],
    ['kills the SSH server', 'killall -9 dropbear || /.berth/bin/busybox killall -9 dropbear'],
    ['breaks the file of keys', 'rm /.berth/instance/authorized_keys; mkfifo /.berth/instance/authorized_keys'],
    ['has a log that begins later', 'yes "[berth] starting" | head -c 22000000 >/proc/1/fd/1'],
  ])('is charged on when he %s', async (_, command) => {
    const rental = await startRental(engine, provider)
    await rental.exec(command)
    expect(await rental.observe()).toMatchObject({ state: 'running' })
    expect(await rental.observe(createDriver(engine))).toMatchObject({ state: 'running' })
  })

  it('cannot change when it is ready after a restart', async () => {
    const rental = await startRental(engine, provider)
    await rental.exec('printf "#!/bin/sh\\nsleep 1000\\n" >/.berth/entry.sh; ln -sf /bin/true /.berth/bin/prepare')
    expect(await rental.stop()).toMatchObject({ state: 'stopped' })
    expect(await rental.start()).toMatchObject({ state: 'running' })
    await rental.stop()
  })

  it('cannot make an end look like a stop', async () => {
    const rental = await startRental(engine, provider)
    await rental.exec('echo "[berth] stopping" >/proc/1/fd/1; kill -TERM 1').catch(() => {})
    await expect.poll(() => rental.observe()).toMatchObject({ state: 'exited' })
  })
})

describeWithEngine('an engine that is killed', () => {
  afterAll(() => removeAll(engine))

  it('is unreachable, and shows right afterwards what became of its containers', async () => {
    const provider = createDriver(engine)
    const [kept, ended] = [
      await startRental(engine, provider),
      await startRental(engine, provider, { launch: { onStart: 'sleep 3; kill -KILL -1; kill -TERM 1' } }),
    ]
    const { exitCode } = await kept.open('sleep 600')
    const watched = provider.watch(1, () => {}, new AbortController().signal)
    const lost = Promise.all([
      expect(exitCode).rejects.toThrow(MachineUnreachable),
      expect(watched).rejects.toThrow(MachineUnreachable),
    ])
    await engine.killEngine()
    await lost
    await expect(kept.observe()).rejects.toThrow(MachineUnreachable)
    await new Promise(resolve => setTimeout(resolve, 4_000))
    await engine.restartEngine()
    expect(await kept.observe()).toMatchObject({ state: 'running' })
    await expect.poll(() => ended.observe()).toMatchObject({ state: 'exited' })
    expect(await kept.exec('echo back')).toBe('back')
  })
})
