import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { PortRefused } from '../../provider.ts'
import type { Machine } from '../machine.ts'
import { openConnection } from './sessions.ts'

/** A connection to a port of a container, through a program in it: so the port may listen on the loopback alone. */
export async function connectToPort(
  machine: Machine,
  containerId: string,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const { stdin, stdout, stderr, exitCode, hangUp } = await openConnection(machine, containerId, port, signal)
  const connected = once(stderr, 'data', { signal }).then(() => true)
  try {
    if (!(await Promise.race([connected, exitCode.then(() => false)]))) {
      throw new PortRefused(`Nothing listens on port ${port} of the container.`)
    }
  } catch (error) {
    hangUp()
    throw error
  } finally {
    connected.catch(() => {})
  }
  stderr.resume()
  exitCode.catch(() => {})
  const connection = Duplex.from({ readable: stdout, writable: stdin })
  connection.once('close', hangUp)
  return connection
}
