// An engine is another's computer: one that answers without end must not take all memory of the gateways.

import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { connectEngine } from '../../../src/providers/docker/engine/client.ts'
import { readFrames } from '../../../src/providers/docker/engine/frames.ts'
import { readJsonLines } from '../../../src/providers/docker/engine/lines.ts'
import { MachineUnreachable } from '../../../src/providers/provider.ts'

/** Chunks of a megabyte, with a limit that a test which fails can still take. */
const endless = (byte: string) => Readable.from(Array.from({ length: 300 }, () => Buffer.alloc(1_000_000, byte)))

async function drain(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of values);
}

it('gives up an answer without an end', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/version') response.end('{"ApiVersion":"1.47"}')
    else endless(' ').pipe(response)
  })
  const folder = await mkdtemp(join(tmpdir(), 'berth-endless-'))
  const socket = join(folder, 'docker.sock')
  await new Promise<void>(resolve => server.listen(socket, resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })
  const signal = AbortSignal.timeout(50_000)
  const client = await connectEngine({ url: `unix://${socket}`, tls: null }, signal)
  await expect(client.call('GET', '/info', { signal, deadlineMs: 50_000 })).rejects.toThrow('too long')
})

it('gives up a line without an end, and a frame that says that it is huge', async () => {
  await expect(drain(readJsonLines(endless(' ')))).rejects.toThrow(MachineUnreachable)
  await expect(drain(readFrames(endless('\x01')))).rejects.toThrow(MachineUnreachable)
})
