// Processes and connections in containers of a host, over its agent's connection.

import type { Duplex, Readable } from 'node:stream'
import type { ContainerProcess, ProcessSpec } from '../provider.ts'
import type { Link } from './link.ts'
import type { ArgsOf } from './protocol/calls.ts'
import { channels, duplexOf, readableOf, writableOf } from './streams/streams.ts'

const callMs = 10_000

export async function openProcess(
  link: Link,
  container: ArgsOf<'observe'>,
  process: ProcessSpec,
  signal: AbortSignal,
): Promise<ContainerProcess> {
  const id = link.nextId()
  const stdin = writableOf(link.multiplexer, id, channels.input)
  const outputs = [channels.output, channels.errors].map(channel => readableOf(link.multiplexer, id, channel))
  const [stdout, stderr] = outputs as [Readable, Readable]
  const exit = Promise.withResolvers<number>()
  // Callers may not wait for it.
  exit.promise.catch(() => {})
  const end = (error: Error | null) => {
    exit.reject(error ?? new Error('The process ended without an exit code.'))
    stdin.destroy()
    // Without an error, what was received can still be read.
    if (error) for (const stream of outputs) stream.destroy(error)
    else for (const channel of [channels.output, channels.errors]) link.multiplexer.receiveEnd({ id, channel })
  }
  try {
    await link.call('open', { ...container, process }, signal, { id, aftermath: { onExit: exit.resolve, onOver: end } })
  } catch (error) {
    for (const stream of [stdin, ...outputs]) stream.destroy()
    throw error
  }
  return {
    ...{ stdin, stdout, stderr, exitCode: exit.promise },
    resize: async size => void (await link.call('resize', { stream: id, size }, AbortSignal.timeout(callMs))),
    signal: async name => void (await link.call('signal', { stream: id, name }, AbortSignal.timeout(callMs))),
    hangUp: () => link.hangUp(id),
  }
}

export async function connectToPort(
  link: Link,
  container: ArgsOf<'observe'>,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const id = link.nextId()
  const connection = duplexOf(link.multiplexer, id, channels.output, channels.input)
  const onOver = (error: Error | null) => {
    if (error) connection.destroy(error)
    else link.multiplexer.receiveEnd({ id, channel: channels.output })
  }
  try {
    await link.call('connect', { ...container, port }, signal, { id, aftermath: { onOver } })
  } catch (error) {
    connection.destroy()
    throw error
  }
  connection.once('close', () => link.closeStreams(id))
  return connection
}
