import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { type ContainerProcess, PortRefused } from '../../provider.ts'
import type { Machine } from '../machine.ts'
import { openConnection } from './sessions.ts'

/** A connection to a port of a container, through a program in it: so the port may listen on the loopback alone. */
export async function connectToPort(
  machine: Machine,
  containerId: string,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const opened = await openConnection(machine, containerId, port, signal)
  const { stderr, exitCode, hangUp } = opened
  const waiting = new AbortController()
  const connected = once(stderr, 'data', { signal: AbortSignal.any([signal, waiting.signal]) }).then(() => true)
  try {
    if (!(await Promise.race([connected, exitCode.then(() => false)]))) {
      throw new PortRefused(`Nothing listens on port ${port} of the container.`)
    }
  } catch (error) {
    hangUp()
    signal.throwIfAborted()
    throw error
  } finally {
    waiting.abort()
    connected.catch(() => {})
  }
  stderr.resume()
  return duplexOf(opened)
}

function duplexOf({ stdin, stdout, exitCode, hangUp }: ContainerProcess): Duplex {
  const connection = new Duplex({
    read: () => void stdout.resume(),
    write: (chunk, encoding, done) => void stdin.write(chunk, encoding, done),
    final: done => void stdin.end(done),
    destroy: (error, done) => {
      hangUp()
      stdout.destroy()
      done(error)
    },
  })
  stdout.on('data', chunk => {
    if (!connection.push(chunk)) stdout.pause()
  })
  stdout.on('end', () => connection.push(null))
  exitCode.catch(error => connection.destroy(error))
  return connection
}
