import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Listens, or says which setting is wrong. */
export async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new Error(explainListenError(error, port, host))
  })
}

/** Throws as `listen` would. Asked before the long work of a start, which would be in vain. */
export async function checkAddress(port: number, host: string): Promise<void> {
  const server = createServer()
  await listen(server, port, host)
  server.close()
  await once(server, 'close')
}

function explainListenError({ code, message }: NodeJS.ErrnoException, port: number, host: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Stop what listens there, or set PORT to another.`
    case 'EACCES':
      return `Port ${port} on ${host} is not for this user. Set PORT to another; those from 1024 on are for everybody.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
      return `HOST is ${host}, which is no address of this machine. Set it to one, such as 127.0.0.1 or 0.0.0.0.`
    default:
      return `HOST ${host} and PORT ${port} cannot be listened to: ${message}.`
  }
}
