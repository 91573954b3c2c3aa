// Clients that do not keep to the rules, against the SSH face alone.

import { once } from 'node:events'
import { connect } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import ssh2, { type Client, type ClientChannel, type ConnectConfig } from 'ssh2'
import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/http/log.ts'
import { MachineUnreachable, type Provider } from '../../../src/providers/provider.ts'
import { createSshFace, type SshFace } from '../../../src/ssh/face.ts'
import { createHostKey } from '../../../src/ssh/host-key.ts'
import { type SshLimits, sshLimits } from '../../../src/ssh/limits.ts'
import { createSeededRandom } from '../../support/seeded-random.ts'
import { listenForSsh } from '../../support/ssh/server.ts'

const privateKey = createHostKey()
const wrongKey = createHostKey()
const known = ssh2.utils.parseKey(privateKey)
if (known instanceof Error) throw known
const blob = known.getPublicSSH()

let opened: { face: SshFace; close: () => void; lines: Record<string, unknown>[] } | undefined
const clients = new Set<Client>()

afterEach(async () => {
  for (const client of clients) client.end()
  clients.clear()
  await opened?.face.stop()
  opened?.close()
})

async function openFace(
  limits: Partial<SshLimits> = {},
  provider: Partial<Provider> = {},
  checking: () => Promise<void> = async () => {},
) {
  const lines: Record<string, unknown>[] = []
  const services = {
    logins: {
      async find(user: string, publicKey: Uint8Array | undefined) {
        await checking()
        const [, id] = /^ins_([1-3])$/.exec(user) ?? []
        const isKnown = id !== undefined && publicKey !== undefined && blob.equals(publicKey)
        // The third instance is of another account.
        const account = { accountId: id === '3' ? 2 : 1, fingerprint: 'SHA256:x' }
        return isKnown ? { instanceId: BigInt(id), ...account } : undefined
      },
      access: async () => ({
        container: { machineId: 1, instanceId: 1n, accountId: 1 },
        refusal: undefined,
      }),
      findEnded: async () => new Map<number, string>(),
    },
    hostKey: { loadOrCreate: async (create: () => string) => create() },
  }
  const face = createSshFace({
    services,
    provider: { open: async () => silentProcess(), connect: () => Promise.reject(new Error('unused')), ...provider },
    log: createLog('info', { write: line => void lines.push(JSON.parse(line)) }),
    limits: { ...sshLimits, refusalMs: 0, ...limits },
  })
  await face.start()
  const server = await listenForSsh(face.serve)
  opened = { face, close: server.close, lines }
  return { face, lines, port: server.port }
}

/** A process that reads nothing and prints nothing. */
function silentProcess() {
  const never = new Promise<number>(() => {})
  const streams = { stdin: new PassThrough({ highWaterMark: 1 }), stdout: new PassThrough(), stderr: new PassThrough() }
  return { ...streams, exitCode: never, resize: async () => {}, signal: async () => {}, hangUp: () => {} }
}

/** Connects, and resolves with the client, or with the error of its connection. */
async function logIn(port: number, config: ConnectConfig = {}): Promise<Client | Error> {
  const client = new ssh2.Client()
  clients.add(client)
  const outcome = new Promise<Client | Error>(resolve => {
    client.once('ready', () => resolve(client))
    client.on('error', error => resolve(error))
    client.once('close', () => resolve(new Error('closed')))
  })
  client.connect({ host: '127.0.0.1', port, username: 'ins_1', privateKey, ...config })
  return await outcome
}

async function mustLogIn(port: number, username = 'ins_1'): Promise<Client> {
  const client = await logIn(port, { username })
  if (client instanceof Error) throw client
  return client
}

const exec = (client: Client, command: string) =>
  new Promise<ClientChannel | Error>(resolve => {
    client.exec(command, (error, channel) => resolve(error ?? channel))
  })

/** The exit code of a command, and its output of errors. */
const run = (client: Client, command: string) =>
  new Promise<{ code: number; errors: string }>((resolve, reject) =>
    client.exec(command, async (error, channel) => {
      if (error) return reject(error)
      const exit = once(channel.resume(), 'exit')
      resolve({ errors: await text(channel.stderr), code: (await exit)[0] })
    }),
  )

const forward = (client: Client) =>
  new Promise<ClientChannel | Error>(resolve => {
    client.forwardOut('127.0.0.1', 1, '127.0.0.1', 80, (error, channel) => resolve(error ?? channel))
  })

describe('the SSH face', () => {
  it('refuses passwords, and ends a connection after six attempts', async () => {
    const { port, lines } = await openFace()
    let asked = 0
    const authHandler = () => {
      asked += 1
      return { type: 'password', username: 'ins_1', password: 'guess' } as const
    }
    expect(await logIn(port, { authHandler })).toBeInstanceOf(Error)
    await expect.poll(() => lines).toMatchObject([{ msg: 'ssh', outcome: 'refused', refusals: 6 }])
    expect(asked).toBeGreaterThanOrEqual(6)
    expect(JSON.stringify(lines)).not.toContain('guess')
  })

  it('takes as long to refuse a password as a key or an unknown instance', async () => {
    const { port } = await openFace({ refusalMs: 150 })
    const refusalMs = async (config: ConnectConfig) => {
      const begun = performance.now()
      expect(await logIn(port, config)).toBeInstanceOf(Error)
      return performance.now() - begun
    }
    const times = [
      await refusalMs({ privateKey: wrongKey }),
      await refusalMs({ username: 'ins_4' }),
      await refusalMs({ username: 'root' }),
    ]
    expect(Math.min(...times)).toBeGreaterThan(150)
    expect(Math.max(...times)).toBeLessThan(600)
  })

  it('refuses an address after too many failures', async () => {
    const { port, lines, face } = await openFace({ failuresPerMinute: 2 })
    await logIn(port, { privateKey: wrongKey })
    await logIn(port, { privateKey: wrongKey })
    expect(await logIn(port)).toBeInstanceOf(Error)
    expect(lines.filter(({ level }) => level === 40)).toMatchObject([{ address: '127.0.0.1' }])
    const [, logins] = face.metrics()
    expect(logins?.samples).toContainEqual({ labels: { outcome: 'limited' }, value: 1 })
  })

  it('cuts off a client that does not log in, or sends nothing', async () => {
    const { port, lines } = await openFace({ loginMs: 200 })
    const socket = connect(port, '127.0.0.1')
    socket.resume()
    await once(socket, 'close')
    await expect.poll(() => lines).toMatchObject([{ msg: 'ssh', outcome: 'unfinished', refusals: 0 }])
    expect(lines[0]?.['ms']).toBeLessThan(1_000)
  })

  it('limits connections of an address, and in all', async () => {
    const perAddress = await openFace({ connectionsPerAddress: 1 })
    const first = await mustLogIn(perAddress.port)
    expect(await logIn(perAddress.port)).toBeInstanceOf(Error)
    first.end()
    await once(first, 'close')
    await expect.poll(async () => (await logIn(perAddress.port)) instanceof Error).toBe(false)
    const inAll = await openFace({ connections: 0 })
    expect(await text(connect(inAll.port, '127.0.0.1'))).toBe('Not allowed at this time.\r\n')
  })

  it('limits the connections of an instance and of an account, and says so', async () => {
    let begun = 0
    const open = async () => {
      begun += 1
      return silentProcess()
    }
    const limits = { connectionsPerInstance: 2, connectionsPerAccount: 3, refusedMs: 500 }
    const { port, face, lines } = await openFace(limits, { open })
    const [first] = [await mustLogIn(port), await mustLogIn(port), await mustLogIn(port, 'ins_2')]
    const close = 'Close one, and try again.\n'
    expect(await run(await mustLogIn(port), 'ls')).toEqual({
      code: 255,
      errors: `ins_1 has 2 SSH connections on this gateway, and may have no more. ${close}`,
    })
    const refused = await mustLogIn(port, 'ins_2')
    expect(await run(refused, 'ls')).toEqual({
      code: 255,
      errors: `Your account has 3 SSH connections on this gateway, and may have no more. ${close}`,
    })
    expect(await forward(refused)).toBeInstanceOf(Error)
    // A refused client that stays is cut off, and does not count.
    await once(refused, 'close')
    expect(begun).toBe(0)
    await exec(await mustLogIn(port, 'ins_3'), 'ls')
    await expect.poll(() => begun).toBe(1)
    first.end()
    await once(first, 'close')
    const tryAgain = async () => {
      await exec(await mustLogIn(port), 'ls')
      return begun
    }
    await expect.poll(tryAgain).toBeGreaterThan(1)
    await expect.poll(() => lines.filter(({ outcome }) => outcome === 'limited').length).toBeGreaterThanOrEqual(2)
    expect(face.metrics()[1]?.samples.find(({ labels }) => labels?.['outcome'] === 'limited')?.value).toBeGreaterThan(1)
  })

  it('does not count a client that left while its login was checked', async () => {
    const late = Promise.withResolvers<void>()
    let checks = 0
    let begun = 0
    const open = async () => {
      begun += 1
      return silentProcess()
    }
    const { port, lines } = await openFace({ connectionsPerInstance: 1 }, { open }, async () => {
      checks += 1
      // First, a client only asks whether the key would do.
      if (checks === 2) await late.promise
    })
    const left = logIn(port)
    await expect.poll(() => checks).toBe(2)
    for (const client of clients) client.destroy()
    await left
    await expect.poll(() => lines.length).toBe(1)
    late.resolve()
    await exec(await mustLogIn(port), 'ls')
    await expect.poll(() => begun).toBe(1)
  })

  it('lets clients log in while others keep all connections and send nothing', async () => {
    const { port } = await openFace({ connections: 2 })
    const silent = [connect(port, '127.0.0.1').resume(), connect(port, '127.0.0.1').resume()]
    await Promise.all(silent.map(socket => once(socket, 'connect')))
    await mustLogIn(port)
    await mustLogIn(port)
    expect(await logIn(port)).toBeInstanceOf(Error)
    for (const socket of silent) socket.destroy()
  })

  it('limits the channels of a connection', async () => {
    const { port } = await openFace({ channels: 2 })
    const client = await mustLogIn(port)
    const channels = [await exec(client, 'a'), await exec(client, 'b'), await exec(client, 'c')]
    expect(channels.map(channel => channel instanceof Error)).toEqual([false, false, true])
    const [first] = channels as [ClientChannel]
    first.close()
    await expect.poll(async () => (await exec(client, 'd')) instanceof Error).toBe(false)
  })

  it('cuts off a client that sends more than its window', async () => {
    const { port } = await openFace()
    const client = await mustLogIn(port)
    const channel = await exec(client, 'cat')
    if (channel instanceof Error) throw channel
    const closed = new Promise<void>(resolve => client.once('close', () => resolve()))
    // biome-ignore lint/suspicious/noExplicitAny: an honest client cannot do this
    const { _protocol, outgoing } = { ...(client as any), outgoing: channel.outgoing as any }
    for (let sent = 0; sent < 400; sent += 1) _protocol.channelData(outgoing.id, Buffer.alloc(30_000))
    await closed
  })

  it('sends no more than a little to a client that takes it and does not read', async () => {
    let produced = 0
    const stdout = new Readable({
      read() {
        produced += 65_536
        this.push(Buffer.alloc(65_536))
      },
    })
    const { port } = await openFace({}, { open: async () => ({ ...silentProcess(), stdout }) })
    const client = await mustLogIn(port)
    const channel = await exec(client, 'cat /dev/zero')
    if (channel instanceof Error) throw channel
    // biome-ignore lint/suspicious/noExplicitAny: an honest client cannot do this
    const { _protocol, _sock, outgoing } = { ...(client as any), outgoing: channel.outgoing as any }
    _protocol.channelWindowAdjust(outgoing.id, 2 ** 31)
    await sleep(100)
    _sock.pause()
    await sleep(500)
    const before = produced
    await sleep(500)
    expect(produced).toBe(before)
    client.destroy()
  })

  it('cuts off a client that asks on and does not read the answers', async () => {
    const { port, lines } = await openFace({ unreadBytes: 100_000 })
    const client = await mustLogIn(port)
    // biome-ignore lint/suspicious/noExplicitAny: an honest client cannot do this
    const { _protocol, _sock } = client as any
    _sock.pause()
    const isCutOff = () => lines.some(({ outcome }) => outcome === 'accepted')
    for (let rounds = 0; rounds < 400 && !isCutOff(); rounds += 1) {
      _sock.cork()
      for (let sent = 0; sent < 1_000; sent += 1) _protocol.ping()
      _sock.uncork()
      await sleep(1)
    }
    expect(isCutOff()).toBe(true)
  })

  it('survives clients that send nonsense', async () => {
    const { port } = await openFace()
    const random = createSeededRandom(1)
    const send = async (data: Buffer) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.resume().end(data)
      await new Promise(resolve => socket.once('close', resolve))
    }
    for (let turn = 0; turn < 100; turn += 1) {
      const noise = Buffer.from(Array.from({ length: 2_000 }, () => random.between(0, 255)))
      await send(turn % 2 === 0 ? noise : Buffer.concat([Buffer.from('SSH-2.0-noise\r\n'), noise]))
    }
    expect(await logIn(port)).not.toBeInstanceOf(Error)
  })

  it('tells a client that the machine does not answer, and the operator why', async () => {
    const { port, lines } = await openFace({}, { open: () => Promise.reject(new MachineUnreachable('no route')) })
    const client = await mustLogIn(port)
    const errors = 'The machine of ins_1 does not answer. Try again in a moment.\n'
    expect(await run(client, 'ls')).toEqual({ code: 255, errors })
    expect(lines).toMatchObject([{ level: 40, instanceId: '1' }])
  })

  it('hangs up a process that begins after its client has left', async () => {
    let hungUp = 0
    const open = async () => {
      await sleep(200)
      const hangUp = () => {
        hungUp += 1
      }
      return { ...silentProcess(), hangUp }
    }
    const { port } = await openFace({}, { open })
    const client = await mustLogIn(port)
    await exec(client, 'a')
    client.end()
    await expect.poll(() => hungUp).toBe(1)
  })

  it('passes signals and sizes on', async () => {
    const told: unknown[] = []
    const open = async () => ({
      ...silentProcess(),
      resize: async (size: object) => void told.push(size),
      signal: async (name: string) => void told.push(name),
    })
    const { port } = await openFace({}, { open })
    const client = await mustLogIn(port)
    const channel = await new Promise<ClientChannel>((resolve, reject) =>
      client.shell({ term: 'vt100', cols: 80, rows: 24 }, (error, shell) => (error ? reject(error) : resolve(shell))),
    )
    await sleep(50)
    channel.setWindow(50, 120, 0, 0)
    channel.signal('INT')
    await expect.poll(() => told).toEqual([{ columns: 120, rows: 50 }, 'SIGINT'])
  })
})
