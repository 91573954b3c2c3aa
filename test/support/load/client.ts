import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type LoadRequest = { method: string; path: string; headers?: Record<string, string>; body?: string }
export type LoadAnswer = { status: number; head: string }

/**
 * An HTTP client that costs little: the load shares the cores with what is measured. Each connection has one request in
 * flight, and is opened when all others are busy.
 */
export function createLoadClient({ hostname, port }: URL, localAddress?: string) {
  const idle: Socket[] = []
  const open = new Set<Socket>()

  async function takeSocket(): Promise<Socket> {
    for (let socket = idle.pop(); socket; socket = idle.pop()) if (!socket.destroyed) return socket
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, ...(localAddress && { localAddress }) })
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    await once(socket, 'connect')
    // The answer in flight fails when its socket closes.
    socket.on('error', () => {})
    // One character a byte, so that lengths are those of the protocol.
    return socket.setEncoding('latin1')
  }

  return {
    /** Fails if the connection is refused or lost. */
    async send(request: LoadRequest): Promise<LoadAnswer> {
      const socket = await takeSocket()
      socket.write(printRequest(request))
      const head = await readAnswer(socket)
      if (/\r\nconnection: close/i.test(head)) socket.destroy()
      else idle.push(socket)
      return { status: Number(head.slice(9, 12)), head }
    },
    close() {
      for (const socket of open) socket.destroy()
    },
  }
}

function printRequest({ method, path, headers = {}, body }: LoadRequest): string {
  const all = body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

/** Reads an answer to its end, and returns its head. */
function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = ''
    let isAtEnd: ((text: string) => boolean) | undefined
    const onData = (text: string) => {
      let body = text
      if (!isAtEnd) {
        head += text
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        body = head.slice(end + 4)
        head = head.slice(0, end)
        isAtEnd = findEnd(head)
      }
      if (isAtEnd(body)) settle(() => resolve(head))
    }
    const onClose = () => settle(() => reject(new Error('The gateway closed the connection.')))
    const settle = (done: () => void) => {
      socket.off('data', onData).off('close', onClose)
      done()
    }
    socket.on('data', onData).on('close', onClose)
    if (socket.destroyed) onClose()
  })
}

/** Gets the parts of a body, and says whether this was the last one. */
function findEnd(head: string): (text: string) => boolean {
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  let missing = Number(length)
  let tail = '\r\n'
  return text => {
    missing -= text.length
    tail = (tail + text).slice(-7)
    // The last chunk of a body without a length is empty.
    return length === undefined ? tail.endsWith('\r\n0\r\n\r\n') : missing <= 0
  }
}
