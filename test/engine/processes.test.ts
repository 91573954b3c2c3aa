import { createHash, randomBytes } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { ContainerNotRunning, PortRefused } from '../../src/providers/provider.ts'
import { createDriver, removeAll } from '../support/engine/driver.ts'
import { type Rental, startRental } from '../support/engine/rental.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

const provider = engine && createDriver(engine)
const hashOf = (data: Buffer) => createHash('sha256').update(data).digest('hex')
const data = randomBytes(20_000_000)

/** The commands of the container's processes. */
const listProcesses = async (rental: Rental) => (await rental.exec('ps -o args')).split('\n')

describeWithEngine('a process in a container', () => {
  afterAll(() => removeAll(engine))

  it('takes and gives 20 MB', async () => {
    const rental = await startRental(engine, provider)
    const { stdin, stdout, stderr, exitCode } = await rental.open('cat; echo done >&2; exit 3')
    stdin.end(data)
    const [output, errors] = await Promise.all([buffer(stdout), text(stderr)])
    expect([hashOf(output), errors, await exitCode]).toEqual([hashOf(data), 'done\n', 3])
  })

  it('waits for its reader', async () => {
    const rental = await startRental(engine, provider)
    const process = await rental.open('head -c 300000000 /dev/zero')
    const before = globalThis.process.memoryUsage().rss
    await delay(1_000)
    expect(globalThis.process.memoryUsage().rss - before).toBeLessThan(50_000_000)
    expect(await rental.exec('echo another')).toBe('another')
    process.hangUp()
    await expect.poll(() => listProcesses(rental)).not.toContainEqual(expect.stringContaining('300000000'))
  })

  it('has a terminal of the given size', async () => {
    const rental = await startRental(engine, provider)
    const { stdin, stdout, resize, exitCode } = await rental.open(null, true)
    await delay(200)
    await resize({ columns: 101, rows: 33 })
    stdin.write('stty size; echo $TERM; tty\n')
    await delay(200)
    stdin.end()
    const output = await text(stdout)
    expect(output).toContain('33 101')
    expect(output).toContain('xterm')
    expect(output).toContain('/dev/pts/')
    expect(await exitCode).toBe(0)
  })

  it('gets signals, and so do its children', async () => {
    const rental = await startRental(engine, provider)
    const { stdout, signal, exitCode } = await rental.open(
      'trap "echo caught; exit 5" INT; sleep 1234 & wait; echo late',
    )
    await expect.poll(() => listProcesses(rental)).toContain('sleep 1234')
    await signal('SIGINT')
    expect(await text(stdout)).toBe('caught\n')
    expect(await exitCode).toBe(5)
  })

  it.each([
    ['a command', 'sleep 1234 & sleep 1235', false],
    ['a login shell', null, true],
  ])('leaves nothing behind when %s is hung up', async (_, command, terminal) => {
    const rental = await startRental(engine, provider)
    const { stdin, hangUp, exitCode } = await rental.open(command, terminal)
    exitCode.catch(() => {})
    if (terminal) stdin.write('sleep 1234 &\nsleep 1235\n')
    await expect.poll(() => listProcesses(rental)).toEqual(expect.arrayContaining(['sleep 1234', 'sleep 1235']))
    hangUp()
    await expect.poll(() => listProcesses(rental)).not.toContainEqual(expect.stringMatching(/sleep 123/))
    expect(await rental.exec('ls /.berth/run | wc -l')).toBe('1')
  })

  it('is stopped when its caller gives up', async () => {
    const rental = await startRental(engine, provider)
    const givingUp = AbortSignal.timeout(500)
    await expect(provider.exec(rental.ref, 'sleep 1236', givingUp)).rejects.toThrow('timeout')
    await expect.poll(() => listProcesses(rental)).not.toContain('sleep 1236')
  })

  it('outlives the signal that it was begun with', async () => {
    const rental = await startRental(engine, provider)
    const beginning = new AbortController()
    const process = await provider.open(rental.ref, { command: 'cat', terminal: null }, beginning.signal)
    beginning.abort()
    process.stdin.end('still here')
    expect(await text(process.stdout)).toBe('still here')
  })

  it('is refused in a container that is gone', async () => {
    const rental = await startRental(engine, provider)
    await rental.remove()
    await expect(rental.open('true')).rejects.toThrow(ContainerNotRunning)
  })
})

describeWithEngine('a connection to a port of a container', () => {
  it('takes and gives 20 MB', async () => {
    const rental = await startRental(engine, provider, { launch: { onStart: 'nc -ll -p 7000 -e cat' } })
    await expect.poll(() => rental.connect(7_000).then(connection => !!connection.destroy())).toBe(true)
    const connection = await rental.connect(7_000)
    connection.end(data)
    expect(hashOf(await buffer(connection))).toBe(hashOf(data))
    await expect.poll(() => listProcesses(rental)).not.toContainEqual(expect.stringContaining('nc 127.0.0.1'))
  })

  it('reaches a server that listens on the loopback alone', async () => {
    const rental = await startRental(engine, provider, { launch: { mode: 'sshProxy' }, ports: [] })
    await expect.poll(() => rental.connect(22).then(connection => !!connection.destroy())).toBe(true)
    const connection = await rental.connect(22)
    const [banner] = await connection.setEncoding('utf8').take(1).toArray()
    expect(banner).toContain('SSH-2.0')
    connection.destroy()
    await expect.poll(() => listProcesses(rental)).not.toContainEqual(expect.stringContaining('nc 127.0.0.1'))
  })

  it('is refused where nothing listens', async () => {
    const rental = await startRental(engine, provider)
    await expect(rental.connect(9)).rejects.toThrow(PortRefused)
  })
})
