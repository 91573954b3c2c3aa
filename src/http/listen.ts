import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Listens, or throws an error that names the wrong setting. `setting` names that of the port. */
export async function listen(server: Server, port: number, host: string, setting = 'PORT'): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new Error(explainListenError(error, port, host, setting), { cause: error })
  })
}

/**
 * Throws as `listen` would. Called before the slow part of a start, to fail early. Only root may take a port below 1024: such
 * a port is kept for `listenAt`, and turns clients away until then.
 */
export async function reserveAddress(port: number, host: string): Promise<Server | undefined> {
  const server = createServer(socket => socket.destroy())
  await listen(server, port, host)
  if (port > 0 && port < 1024) return server
  server.close()
  await once(server, 'close')
  return undefined
}

/** Takes over the port of another server. */
export async function listenAt(server: Server, reserved: Server): Promise<void> {
  server.listen(reserved)
  await once(server, 'listening')
}

function explainListenError(
  { code, message }: NodeJS.ErrnoException,
  port: number,
  host: string,
  setting: string,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Stop the program that uses it, or set ${setting} to another port.`
    case 'EACCES':
      return `Port ${port} on ${host} is not allowed for this user. Set ${setting} to 1024 or above.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
      return `HOST is ${host}, which is not an address of this machine. Set it to one, such as 127.0.0.1 or 0.0.0.0.`
    default:
      return `Berth cannot listen on HOST ${host} and ${setting} ${port}: ${message}.`
  }
}

/** Whether only this machine can reach the host. Accepts IPv6 addresses in brackets, as in URLs. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1')
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
}
