// The processes and connections that gateways began on this host, and their streams.

import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { kindOf } from '../providers/agent/failures.ts'
import type { FailureKind } from '../providers/agent/protocol/messages.ts'
import type { Multiplexer } from '../providers/agent/streams/multiplexer.ts'
import { channels, readableOf, writableOf } from '../providers/agent/streams/streams.ts'
import type { ContainerProcess, WindowSize } from '../providers/provider.ts'

/** A process that was hung up has this long to end its output. */
const hangUpMs = 10_000
export const maxStreams = 512

type Tell = {
  exit(id: number, code: number): void
  /** With a kind: the streams broke off. */
  close(id: number, kind: FailureKind | null): void
}

/** How many streams all connections of this host have together. */
export type StreamCount = { open: number }

export type Processes = ReturnType<typeof createProcesses>

export function createProcesses(multiplexer: Multiplexer, tell: Tell, streams: StreamCount) {
  const processes = new Map<number, ContainerProcess>()
  const ends = new Map<number, () => void>()

  /** Tells how the copying ended, once. */
  function follow(id: number, copying: Promise<unknown>, stop: () => void): void {
    ends.set(id, stop)
    streams.open += 1
    copying
      .then(
        () => null,
        (error: unknown) => kindOf(error),
      )
      .then(kind => {
        ends.delete(id)
        streams.open -= 1
        processes.delete(id)
        stop()
        tell.close(id, kind)
      })
  }

  return {
    addProcess(id: number, opened: ContainerProcess): void {
      const { stdin, stdout, stderr, exitCode, hangUp } = opened
      const input = readableOf(multiplexer, id, channels.input)
      const outputs = [
        writableOf(multiplexer, id, channels.output),
        writableOf(multiplexer, id, channels.errors),
      ] as const
      // A process may end before it has read its input.
      pipeline(input, stdin).catch(() => {})
      const copying = Promise.all([
        pipeline(stdout, outputs[0]),
        pipeline(stderr, outputs[1]),
        exitCode.then(code => tell.exit(id, code)),
      ])
      processes.set(id, opened)
      follow(id, copying, () => {
        hangUp()
        for (const stream of [input, ...outputs]) stream.destroy()
      })
    },
    addConnection(id: number, connection: Duplex): void {
      const input = readableOf(multiplexer, id, channels.input)
      const output = writableOf(multiplexer, id, channels.output)
      connection.on('error', () => {})
      const copying = Promise.all([pipeline(input, connection), pipeline(connection, output)])
      follow(id, copying, () => {
        for (const stream of [connection, input, output]) stream.destroy()
      })
    },
    resize: async (id: number, size: WindowSize): Promise<void> => await processes.get(id)?.resize(size),
    signal: async (id: number, name: string): Promise<void> => await processes.get(id)?.signal(name),
    hangUp(id: number): void {
      processes.get(id)?.hangUp()
      setTimeout(() => ends.get(id)?.(), hangUpMs).unref()
    },
    close: (id: number): void => ends.get(id)?.(),
    /** Ends all: nobody reads them anymore. */
    closeAll(): void {
      for (const stop of [...ends.values()]) stop()
    },
  }
}
