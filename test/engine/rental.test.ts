// A rental from the search to the destruction, on a real engine.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { docker, runDocker } from '../support/engine/docker.ts'
import { type RealMarket, startRealMarket } from '../support/engine/real-market.ts'
import { createKeyPair, type KeyPair, sshTo } from '../support/engine/ssh.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

let market: RealMarket
let key: string
let sshKey: KeyPair

describeWithEngine('a rental on a real machine', () => {
  beforeAll(async () => {
    market = await startRealMarket(engine)
    key = await market.newKey('renter@example.com')
  })

  afterAll(() => market.stop())

  const ask = (query: string, variables: Record<string, unknown> = {}) => market.ask(key, query, variables)

  async function rent(spec: Record<string, unknown>): Promise<string> {
    const { offers } = await ask('{ offers(first: 1, filter: {numGpus: {eq: 1}}) { nodes { id } } }')
    const { rentInstance } = await ask(
      `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
        ... on RentInstanceSuccess { instance { id } } ... on Error { code message } } }`,
      { input: { offerId: offers.nodes[0].id, spec } },
    )
    if (!rentInstance.instance) throw new Error(JSON.stringify(rentInstance))
    return rentInstance.instance.id
  }

  const read = async (id: string) =>
    (
      await ask(
        `query ($id: ID!) { instance(id: $id) { status statusReason { code message } connection { sshHost sshPort ports { containerPort hostPort } }
          logs { text source } } }`,
        { id },
      )
    ).instance

  const change = async (id: string, verb: string) =>
    await ask(`mutation ($id: ID!) { change: ${verb}Instance(input: {id: $id}) { ... on Error { code message } } }`, {
      id,
    })

  /** The instances of a gateway that was killed stay leased for 30 s. */
  const becomes = (id: string, status: string) =>
    expect.poll(async () => (await read(id)).status, { timeout: 45_000 }).toBe(status)

  async function login(id: string, command: string) {
    const { sshHost, sshPort } = (await read(id)).connection
    return await sshTo({ host: sshHost, port: sshPort }, sshKey, command)
  }

  it('runs a container with its environment, ports, volume and SSH until it is destroyed', async () => {
    sshKey = await createKeyPair()
    await ask('mutation ($key: String!) { createSshKey(input: {publicKey: $key}) { ... on Error { message } } }', {
      key: sshKey.publicKey,
    })
    const id = await rent({
      source: { image: engine.images.tiny },
      mode: { ssh: { direct: true } },
      env: [{ name: 'GREETING', value: 'hello world' }],
      ports: [{ containerPort: 8000 }],
      onStart: 'echo "$GREETING" > /data/greeting; echo "said $GREETING"; httpd -p 8000 -h /data',
      volumes: [{ source: { create: { sizeGb: 1 } }, mountPath: '/data' }],
    })
    await becomes(id, 'RUNNING')

    const { ports } = (await read(id)).connection
    const port = ports.find(({ containerPort }: { containerPort: number }) => containerPort === 8000).hostPort
    await expect
      .poll(async () => (await fetch(`http://127.0.0.1:${port}/greeting`)).text().catch(() => ''), { timeout: 10_000 })
      .toBe('hello world\n')
    expect((await read(id)).logs).toContainEqual({ text: 'said hello world', source: 'STDOUT' })
    expect(await login(id, 'echo kept > /root/file; cat /data/greeting; exit 3')).toMatchObject({
      ...{ stdout: 'hello world\n', code: 3 },
    })

    const used = async () => {
      const query =
        'query ($id: ID!) { instance(id: $id) { currentMetrics { memoryUsedMb receivedMb gpus { index } } } }'
      return (await ask(query, { id })).instance.currentMetrics
    }
    await expect.poll(used, { timeout: 40_000 }).toMatchObject({ receivedMb: expect.any(Number), gpus: [] })

    await change(id, 'stop')
    await becomes(id, 'STOPPED')
    await change(id, 'start')
    await becomes(id, 'RUNNING')
    expect(await login(id, 'cat /root/file')).toMatchObject({ stdout: 'kept\n', code: 0 })

    await change(id, 'destroy')
    const names = () => docker(engine.folder, ['ps', '-a', '--format', '{{.Names}}'])
    await expect.poll(names, { timeout: 15_000 }).not.toContain(id.replace('ins_', '-'))
    const volume = await docker(engine.folder, ['volume', 'ls', '-q'])
    const shown = ['run', '--rm', '-v', `${volume}:/data`, '--entrypoint', 'cat', engine.images.tiny, '/data/greeting']
    expect(await docker(engine.folder, shown)).toBe('hello world')
  })

  it('tells why an image cannot be pulled', async () => {
    const id = await rent({ source: { image: `${engine.registry.host}/missing:1` } })
    await becomes(id, 'EXITED')
    expect((await read(id)).statusReason).toMatchObject({ code: 'IMAGE_PULL_FAILED' })
    await change(id, 'destroy')
  })

  it('gives a private image to who has its login, and to nobody else afterwards', async () => {
    const { host, username, password, image } = engine.registry
    const outcome = async (id: string) => {
      const settled = ['RUNNING', 'EXITED']
      await expect.poll(async () => settled.includes((await read(id)).status), { timeout: 30_000 }).toBe(true)
      const { status, statusReason } = await read(id)
      await change(id, 'destroy')
      return [status, statusReason.message]
    }
    const source = { image }
    const refusal = 'The registry refused to give the image. Check the name of the image, and the registry login.'
    expect(await outcome(await rent({ source }))).toEqual(['EXITED', refusal])
    const wrong = { host, username, password: 'a wrong password' }
    expect(await outcome(await rent({ source, registry: wrong }))).toEqual(['EXITED', refusal])
    const login = { host, username, password }
    expect((await outcome(await rent({ source, registry: login })))[0]).toBe('RUNNING')
    key = await market.newKey('another-renter@example.com')
    expect(await outcome(await rent({ source }))).toEqual(['EXITED', refusal])
  })

  it('runs what a REST client rents', async () => {
    const rest = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${market.gateway().url}/api/v0${path}`, {
        ...{ method, body: body === undefined ? null : JSON.stringify(body) },
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      })
      return await response.json()
    }
    sshKey = await createKeyPair()
    expect(await rest('POST', '/ssh/', { ssh_key: sshKey.publicKey })).toMatchObject({ success: true })
    const { offers } = await rest('POST', '/bundles/', { num_gpus: { eq: 1 }, limit: 1 })
    const launch = { image: engine.images.tiny, disk: 8, runtype: 'ssh_direct', onstart: 'touch /root/begun' }
    const { new_contract: id } = await rest('PUT', `/asks/${offers[0].id}/`, launch)
    const row = async () => (await rest('GET', `/instances/${id}/`)).instances
    await expect.poll(async () => (await row()).actual_status, { timeout: 30_000 }).toBe('running')
    const { public_ipaddr: host, ports } = await row()
    const port = ports['22/tcp'][0].HostPort
    await expect
      .poll(async () => await sshTo({ host, port }, sshKey, 'ls /root'), { timeout: 10_000 })
      .toMatchObject({ stdout: 'begun\n' })
    expect(await rest('PUT', `/instances/${id}/`, { state: 'stopped' })).toMatchObject({ success: true })
    await expect.poll(async () => (await row()).actual_status, { timeout: 30_000 }).toBe('stopped')
    expect(await rest('DELETE', `/instances/${id}/`)).toMatchObject({ success: true })
  })

  it('records that a container ended by itself, at once', async () => {
    const id = await rent({
      ...{ source: { image: engine.images.tiny }, mode: { args: { args: ['sh', '-c', 'sleep 3; exit 7'] } } },
    })
    await becomes(id, 'EXITED')
    expect((await read(id)).statusReason).toMatchObject({ message: expect.stringContaining('7') })
    await change(id, 'destroy')
  })

  it('goes on after the gateway was killed', async () => {
    const id = await rent({ source: { image: engine.images.tiny } })
    await market.restartGateway('SIGKILL')
    await becomes(id, 'RUNNING')
    await change(id, 'destroy')
    await expect.poll(async () => (await runDocker(engine.folder, ['ps', '-aq'])).stdout, { timeout: 30_000 }).toBe('')
  })
})
