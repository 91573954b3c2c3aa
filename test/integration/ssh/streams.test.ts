// Streams between OpenSSH's own client and processes that run on this machine.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSshServices } from '../../../src/services/instances/ssh/services.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { createSshFace, type SshFace } from '../../../src/ssh/face.ts'
import { sshLimits } from '../../../src/ssh/limits.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { hasSsh, type KeyPair, sshClient } from '../../support/ssh/client.ts'
import { newRunningInstance } from '../../support/ssh/instances.ts'
import { localProvider, type Told } from '../../support/ssh/local-provider.ts'
import { listenForSsh } from '../../support/ssh/server.ts'

const told: Told = { sizes: [], terminals: [], signals: [], hungUp: 0 }
const big = randomBytes(20_000_000)

let database: TestDatabase
let gateway: Gateway
let face: SshFace
/** Asks its clients often whether they are still there. */
let impatient: SshFace
let impatientServer: Awaited<ReturnType<typeof listenForSsh>>
let server: Awaited<ReturnType<typeof listenForSsh>>
let client: ReturnType<typeof sshClient>
let key: KeyPair
let user: string

const run = (command: string, input?: Buffer | string | null, options: string[] = []) =>
  client.ssh({ user, key, command: [command], options, ...(input !== undefined && { input }) })
const start = (command: string, options: string[] = []) =>
  client.startSsh({ user, key, command: [command], options, input: null })

describe.skipIf(!hasSsh)('an SSH session', () => {
  beforeAll(async () => {
    database = await createDatabase()
    gateway = openGateway({ url: database.url, delayFactor: 0 })
    const services = createSshServices({ database: gateway.database, secrets: createSecrets('a secret of tests') })
    face = createSshFace({ services, provider: localProvider(told), log: gateway.log })
    const limits = { ...sshLimits, keepaliveMs: 100 }
    impatient = createSshFace({ services, provider: localProvider(told), log: gateway.log, limits })
    await Promise.all([face.start(), impatient.start()])
    server = await listenForSsh(face.serve)
    impatientServer = await listenForSsh(impatient.serve)
    client = sshClient(() => server.port)
    key = client.newKey()
    user = `ins_${await newRunningInstance(gateway, [key.publicKey])}`
  })

  afterAll(async () => {
    await Promise.all([face.stop(), impatient.stop()])
    server.close()
    impatientServer.close()
    await gateway.close()
    await database.drop()
    client.remove()
  })

  beforeEach(() => {
    Object.assign(told, { sizes: [], terminals: [], signals: [], hungUp: 0 })
  })

  it('carries 20 MB to the process and back', async () => {
    const { code, output, ms } = await run('cat', big)
    expect([code, output.equals(big)]).toEqual([0, true])
    process.stdout.write(`20 MB there and back: ${Math.round(ms)} ms\n`)
  })

  it('carries 20 MB with new session keys in between', async () => {
    const { code, output } = await run('cat', big, ['-o', 'RekeyLimit=2M'])
    expect([code, output.equals(big)]).toEqual([0, true])
  })

  it('carries 20 MB upwards, and tells the end of the input', async () => {
    const { code, stdout } = await run('wc -c', big)
    expect([code, stdout.trim()]).toEqual([0, String(big.length)])
  })

  it('carries much output and many errors apart, in full', async () => {
    const command =
      'head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2; head -c 3000000 /dev/zero; echo end; exit 3'
    const { code, output, stderr } = await run(command)
    expect([code, output.length, stderr.length]).toEqual([3, 8_000_004, 5_000_000])
  })

  it('carries output and errors that come at the same time', async () => {
    const command = '(head -c 6000000 /dev/zero | tr "\\0" e >&2) & head -c 6000000 /dev/zero; wait'
    const { output, stderr } = await run(command)
    expect([output.length, stderr.length, /^e+$/.test(stderr)]).toEqual([6_000_000, 6_000_000, true])
  })

  it('makes a process wait whose client does not read', async () => {
    const session = start('i=0; while [ $i -lt 400 ]; do head -c 100000 /dev/zero; i=$((i+1)); echo $i >&2; done')
    session.child.stdout.pause()
    let rounds = 0
    session.child.stderr.on('data', text => {
      rounds += String(text).split('\n').length - 1
    })
    let before = -1
    while (rounds === 0 || rounds !== before) {
      before = rounds
      await sleep(700)
    }
    // Of 40 MB, what the buffers and the window take.
    expect(rounds).toBeLessThan(200)
    session.child.kill()
    await session.ended
    await expect.poll(() => told.hungUp).toBe(1)
  })

  it('tells how the process ended', async () => {
    expect((await run('exit 42')).code).toBe(42)
    expect((await run('kill -TERM $$')).code).toBe(143)
  })

  it('lets a process end that does not read its input', async () => {
    const { code, output } = await run('head -c 3', big)
    expect([code, output.length]).toEqual([0, 3])
  })

  it('tells a terminal its kind and size, and sends ^D instead of closing its input', async () => {
    const { code, stdout } = await client.ssh({
      ...{ user, key, options: ['-tt'], input: 'hi' },
      command: ['echo $TERM; head -c 3 | od -c'],
    })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\S+\n0+ +h +i +004/)])
    expect(told.terminals).toEqual([{ type: expect.any(String), columns: 80, rows: 24 }])
  })

  it('sets no environment variable for a client', async () => {
    const { code, stdout } = await run('echo $LANG$FOO', '', ['-o', 'SetEnv=FOO=bar'])
    expect([code, stdout]).toEqual([0, '\n'])
  })

  it('hangs up when the client leaves', async () => {
    const session = start('echo started; exec sleep 30')
    await expect.poll(session.stdout).toBe('started\n')
    session.child.kill('SIGKILL')
    await expect.poll(() => told.hungUp).toBe(1)
  })

  it('stays open while the client answers, and hangs up when it no longer does', async () => {
    const away = sshClient(() => impatientServer.port)
    const idle = await away.ssh({ user, key, command: ['sleep 1.5; echo done'] })
    expect(idle).toMatchObject({ code: 0, stdout: 'done\n' })
    const session = away.startSsh({ user, key, command: ['echo started; exec sleep 30'], input: null })
    await expect.poll(session.stdout).toBe('started\n')
    session.child.kill('SIGSTOP')
    await expect.poll(() => told.hungUp).toBe(1)
    session.child.kill('SIGKILL')
    await session.ended
    away.remove()
  })

  it('serves eight clients at once, and each in full', async () => {
    const part = big.subarray(0, 3_000_000)
    const runs = await Promise.all(Array.from({ length: 8 }, () => run('cat', part)))
    expect(runs.map(({ code, output }) => [code, output.equals(part)])).toEqual(runs.map(() => [0, true]))
  })

  it('carries scp and sftp to the sftp-server of the container', async () => {
    const args = [...client.settings(key), '-P', String(server.port), '-b', '/dev/null', `${user}@127.0.0.1`]
    const { stderr } = await client.start('sftp', args).ended
    // This machine has no such program.
    expect(stderr).toContain('/.berth/bin/sftp-server: not found')
  })

  it('forwards a port to the loopback of the instance', async () => {
    const echo = createTcpServer({ allowHalfOpen: true }, socket => void socket.pipe(socket)).listen(0, '127.0.0.1')
    await once(echo, 'listening')
    const { port } = echo.address() as AddressInfo
    const direct = await client.ssh({ user, key, options: ['-W', `localhost:${port}`], input: big })
    expect([direct.code, direct.output.equals(big)]).toEqual([0, true])

    const local = await freePort()
    const tunnel = client.startSsh({ user, key, options: ['-N', '-L', `${local}:127.0.0.1:${port}`], input: null })
    const answers = await Promise.all([1, 2, 3].map(() => echoThrough(local, big)))
    expect(answers).toEqual([true, true, true])
    tunnel.child.kill()
    await tunnel.ended
    echo.close()
  })

  it('ends with a message when the gateway stops, and none begins', async () => {
    const session = start('echo started; exec sleep 30')
    await expect.poll(session.stdout).toBe('started\n')
    face.refuse()
    expect((await run('echo')).code).toBe(255)
    expect(session.child.exitCode).toBeNull()
    await face.stop()
    expect(await session.ended).toMatchObject({ code: 255, stderr: expect.stringContaining('This gateway stops.') })
    expect(told.hungUp).toBeGreaterThanOrEqual(1)
  })
})

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Whether a port sends back what it gets. Waits until it listens. */
async function echoThrough(port: number, data: Buffer): Promise<boolean> {
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    if (
      await once(socket, 'connect').then(
        () => true,
        () => false,
      )
    ) {
      socket.end(data)
      const chunks: Buffer[] = []
      for await (const chunk of socket) chunks.push(chunk)
      return Buffer.concat(chunks).equals(data)
    }
    await sleep(50)
  }
}
