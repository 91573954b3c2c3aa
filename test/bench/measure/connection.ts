import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type HttpRequest = { method: string; path: string; headers: Record<string, string>; body?: string }

/** A connection that is kept alive and has one request in flight. */
export type Connection = {
  /** Sends a request and returns the body of its answer. Fails unless the status is 200. */
  send(request: HttpRequest): Promise<string>
  close(): void
}

/**
 * A client of its own, because the load shares the cores with what is measured: a request costs a write and a read of the
 * socket, and no objects for headers and streams.
 */
export async function openConnection(url: URL): Promise<Connection> {
  let socket = await openSocket(url)
  return {
    async send(request) {
      // Servers close a connection after some time or number of requests.
      if (socket.destroyed) socket = await openSocket(url)
      writeRequest(socket, request)
      const { head, body } = await readAnswer(socket)
      if (/\r\nconnection: close/i.test(head)) socket.destroy()
      if (!head.startsWith('HTTP/1.1 200')) throw new Error(`${head}\n${body}`.slice(0, 2_000))
      return body
    },
    close: () => socket.destroy(),
  }
}

export async function openSocket({ hostname, port }: URL): Promise<Socket> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  // An error closes the socket. Without this listener, the error event would end the process.
  socket.on('error', () => {})
  // One character a byte, so that lengths are those of the protocol.
  return socket.setEncoding('latin1')
}

export function writeRequest(socket: Socket, { method, path, headers, body = '' }: HttpRequest): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}${length}\r\n${body}`)
}

type Answer = { head: string; body: string }

function readAnswer(socket: Socket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let received = ''
    const onData = (text: string) => {
      received += text
      const answer = parseAnswer(received)
      if (answer) settle(() => resolve(answer))
    }
    const onClose = () => settle(() => reject(new Error('The server closed the connection.')))
    const settle = (done: () => void) => {
      socket.off('data', onData).off('close', onClose)
      done()
    }
    socket.on('data', onData).on('close', onClose)
  })
}

const endOfChunks = '\r\n0\r\n\r\n'

/** The answer, with chunk sizes in the body if it has chunks; undefined until it is complete. */
function parseAnswer(text: string): Answer | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [head, body] = [text.slice(0, end), text.slice(end + 4)]
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  // JSON has no line break of its own, so only the last chunk ends like this.
  const isComplete = length === undefined ? text.endsWith(endOfChunks) : body.length >= Number(length)
  return isComplete ? { head, body } : undefined
}
