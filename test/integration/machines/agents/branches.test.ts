// Streams of renters on gateways that do not have the host's connection: the host opens a second one there.

import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PortRefused } from '../../../../src/providers/provider.ts'
import {
  connectToPort,
  countLines,
  holdOf,
  type OneHost,
  openOneHost,
  run,
  start,
} from '../../../support/machines/one-host.ts'

let host: OneHost

beforeAll(async () => {
  host = await openOneHost()
})

afterEach(() => host.closeAll())

afterAll(() => host.drop())

describe('a stream on a gateway without the host', () => {
  it('gives the output and the exit code of a command', async () => {
    const { here, there } = await host.newPair()
    const before = await holdOf(here)
    expect(await run(here, 'echo hello; exit 3')).toEqual(['hello\n', 3])
    expect(await run(there, 'echo hello; exit 4')).toEqual(['hello\n', 4])
    expect(await holdOf(here)).toEqual(before)
    expect(before.gatewayId).toBe(there.gatewayId)
    await expect.poll(() => here.database.prisma.agentRequest.count()).toBe(0)
  })

  it('gets and gives 20 MB exactly, and is held up by no other', async () => {
    const { here } = await host.newPair()
    const content = randomBytes(20_000_000)
    const stuck = await start(here, 'cat')
    pipeline(Readable.from(content), stuck.stdin).catch(() => {})
    const { stdin, stdout, exitCode } = await start(here, 'cat')
    const startedMs = performance.now()
    const [output] = await Promise.all([buffer(stdout), pipeline(Readable.from(slices(content)), stdin)])
    process.stdout.write(`20 MB both ways on a branch: ${Math.round(performance.now() - startedMs)} ms\n`)
    expect([hashOf(output), await exitCode]).toEqual([hashOf(content), 0])
    expect(stuck.stdout.readableLength).toBeLessThan(400_000)
    stuck.hangUp()
  })

  it('reaches a port of the container, and learns that nothing listens on another', async () => {
    const { here } = await host.newPair()
    const server = createServer(socket => socket.pipe(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const connection = await connectToPort(here, port)
    const content = randomBytes(20_000_000)
    const [output] = await Promise.all([buffer(connection), pipeline(Readable.from(slices(content)), connection)])
    expect(hashOf(output)).toBe(hashOf(content))
    server.close()
    await expect(connectToPort(here, port)).rejects.toThrow(PortRefused)
  })

  it('shares one connection with all others, also with those that begin at the same time', async () => {
    const { here } = await host.newPair()
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => run(here, `echo ${index}`)))
    expect(answers).toEqual(answers.map((_, index) => [`${index}\n`, 0]))
    await run(here, 'true')
    expect(countLines(here, 'opened')).toBe(1)
  })

  it('works behind a balancer that leads to any of three gateways', async () => {
    const gateways = [await host.newGateway(), await host.newGateway(), await host.newGateway()]
    await host.connect(await host.newBalancer(...gateways))
    for (const gateway of gateways) expect(await run(gateway, 'echo hello')).toEqual(['hello\n', 0])
    expect(gateways.map(gateway => countLines(gateway, 'opened')).toSorted()).toEqual([0, 1, 1])
  })

  it('is left by who waits for it, and opens for others', async () => {
    const { here } = await host.newPair()
    const leaving = new AbortController()
    const left = start(here, 'cat', leaving.signal)
    const other = run(here, 'echo hello')
    leaving.abort(new Error('I have left.'))
    await expect(left).rejects.toThrow('I have left.')
    expect(await other).toEqual(['hello\n', 0])
  })
})

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function* slices(content: Buffer): Generator<Buffer> {
  for (let from = 0; from < content.length; from += 70_001) yield content.subarray(from, from + 70_001)
}
