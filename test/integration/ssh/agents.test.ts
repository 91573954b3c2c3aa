// Logins of OpenSSH's own client to containers of a host, on the gateway that does not have the host's connection.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { newHostKey, openSimulatedHost, startAgent, type TestAgent } from '../../support/machines/hosts.ts'
import { startTcpBalancer, type TcpBalancer } from '../../support/machines/tcp-balancer.ts'
import { hasSsh, type KeyPair, sshClient } from '../../support/ssh/client.ts'
import { localProvider } from '../../support/ssh/local-provider.ts'
import { listenForSsh } from '../../support/ssh/server.ts'
import { serveApp } from '../../support/streams.ts'

const big = randomBytes(20_000_000)

let apps: TestApp[] = []
let servers: Awaited<ReturnType<typeof serveApp>>[]
let doors: Awaited<ReturnType<typeof listenForSsh>>[]
let balancer: TcpBalancer
let host: ReturnType<typeof openSimulatedHost>
let agent: TestAgent
let renter: string
let client: ReturnType<typeof sshClient>
let key: KeyPair
/** The gateway that clients log in to. */
let place = 0

const first = () => apps[0] as TestApp
const run = (user: string, command: string, input: Buffer | string = '') =>
  client.ssh({ user, key, command: [command], input })

/** Rents the machine as a container that gets the key of the client. */
async function rent(machineId: number): Promise<string> {
  const offers = await first().sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  const [offer] = offers as { id: string }[]
  const { status, body } = await first().rest(renter, 'PUT', `/asks/${offer?.id}/`, { image: 'ubuntu' })
  expect(status).toBe(200)
  const states = () => first().sql('SELECT status FROM instances WHERE id = $1', [body.new_contract])
  await vi.waitFor(async () => expect(await states()).toEqual([{ status: 'running' }]), { timeout: 30_000 })
  return `ins_${body.new_contract}`
}

/** Connects a host to any of the gateways, and chooses the other one for the client. */
async function connect(machineId: number, protocols?: number[]): Promise<TestAgent> {
  const hostKey = await newHostKey(first().operations, balancer.url, machineId)
  const provider = { ...host.provider, ...localProvider({ sizes: [], terminals: [], signals: [], hungUp: 0 }) }
  const started = startAgent({ gateway: balancer.url, key: hostKey, provider, ...(protocols && { protocols }) })
  await vi.waitFor(() => expect(started.connections()).toBe(1), { timeout: 10_000 })
  const isConnected = ({ logLines }: TestApp) =>
    logLines.some(line => line['msg'] === 'The agent of a host is connected.' && line['machineId'] === machineId)
  place = apps.findIndex(app => !isConnected(app))
  return started
}

describe.skipIf(!hasSsh)('an SSH client at the gateway that does not have the host', { timeout: 180_000 }, () => {
  let user: string

  beforeAll(async () => {
    const options = { now: undefined, simulatedDelay: 0, ssh: true, sshProxy: { host: '127.0.0.1', port: 2222 } }
    apps = [await startApp(options)]
    apps.push(await startApp({ ...options, sharedApp: first() }))
    servers = await Promise.all(apps.map(app => serveApp(app)))
    doors = await Promise.all(apps.map(app => listenForSsh(socket => app.ssh?.serve(socket))))
    for (const app of apps) app.startWork()
    balancer = await startTcpBalancer()
    balancer.use(servers.map(({ url }) => url))
    host = openSimulatedHost(first().database.url)
    client = sshClient(() => doors[place]?.port as number)
    key = client.newKey()
    renter = await first().newKey(null, { creditNanos: 100_000_000_000n })
    const query = `mutation ($key: String!) { createSshKey(input: {publicKey: $key}) { ... on Error { message } } }`
    expect((await first().graphql(renter, query, { key: key.publicKey })).errors).toBeUndefined()
    await listMachines(
      first().operations,
      [1, 2].map(index => ({ machine: { publicIp: `203.0.113.${index}` } })),
    )
    agent = await connect(1)
    user = await rent(1)
  })

  afterAll(async () => {
    await agent?.stop()
    for (const one of [...doors, ...servers]) await one.close()
    await balancer.close()
    for (const app of apps.toReversed()) await app.close()
    await host.close()
    client.remove()
  })

  it('gets the output and the exit code of a command', async () => {
    // A gateway may take the machine for a simulated one for two seconds after its host has joined.
    await expect.poll(() => run(user, 'echo hello; exit 3')).toMatchObject({ code: 3, stdout: 'hello\n' })
  })

  it('carries 20 MB to the process and back', async () => {
    const { code, output, ms } = await run(user, 'cat', big)
    expect([code, output.equals(big)]).toEqual([0, true])
    process.stdout.write(`20 MB there and back over a second connection: ${Math.round(ms)} ms\n`)
  })

  it('reaches a port of the instance', async () => {
    const server = createServer(socket => socket.pipe(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { code, output } = await client.ssh({ user, key, options: ['-W', `127.0.0.1:${port}`], input: big })
    expect([code, output.equals(big)]).toEqual([0, true])
    server.close()
  })

  it('shares the connection with others', async () => {
    const runs = await Promise.all([1, 2, 3, 4].map(number => run(user, `echo ${number}`)))
    expect(runs.map(({ stdout }) => stdout)).toEqual(['1\n', '2\n', '3\n', '4\n'])
    const opened = 'A host of another gateway has opened a second connection.'
    expect(apps[place]?.logLines.filter(({ msg }) => msg === opened)).toHaveLength(1)
  })

  it('is told to come again if the host speaks the protocol before', async () => {
    const old = await connect(2, [1])
    const another = await rent(2)
    const refusal = { code: 255, stderr: expect.stringContaining('Try again in a moment.') }
    await expect.poll(() => run(another, 'true')).toMatchObject(refusal)
    place = 1 - place
    await expect.poll(() => run(another, 'exit 3')).toMatchObject({ code: 3 })
    await old.stop()
  })
})
