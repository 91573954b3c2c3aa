import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type HttpRequest = { method: string; path: string; headers: Record<string, string>; body?: string }

/** An HTTP connection that is kept alive and has one request in flight. */
export type Connection = {
  /** Sends a request and returns the body of its answer. Fails unless the status is 200. */
  send(request: HttpRequest): Promise<string>
  close(): void
}

/**
 * A client of its own, because the load shares the cores with what is measured: a request costs a write and a read of the
 * socket, and no objects for headers and streams.
 */
export async function openConnection({ hostname, port }: URL): Promise<Connection> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let waiting: PromiseWithResolvers<string> | undefined
  let received = ''
  const fail = (error: Error) => waiting?.reject(error)
  // One character a byte, so that lengths are those of the protocol.
  socket.setEncoding('latin1')
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('The server closed the connection.')))
  socket.on('data', (text: string) => {
    received += text
    const body = readBody(received)
    if (body === undefined) return
    const answer = received
    received = ''
    if (answer.startsWith('HTTP/1.1 200')) waiting?.resolve(body)
    else fail(new Error(answer.slice(0, 2_000)))
  })
  return {
    async send(request) {
      waiting = Promise.withResolvers()
      write(socket, request)
      return await waiting.promise
    },
    close: () => socket.destroy(),
  }
}

function write(socket: Socket, { method, path, headers, body = '' }: HttpRequest): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}${length}\r\n${body}`)
}

const endOfChunks = '\r\n0\r\n\r\n'

/** The body of an answer, with chunk sizes if it has chunks; undefined until it is complete. */
function readBody(answer: string): string | undefined {
  const head = answer.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const body = answer.slice(head + 4)
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(answer.slice(0, head + 2)) ?? []
  if (length !== undefined) return body.length >= Number(length) ? body : undefined
  // JSON has no line break of its own, so only the last chunk ends like this.
  return answer.endsWith(endOfChunks) ? body : undefined
}
