import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { PortRefused, type Provider } from '../../../src/providers/provider.ts'

export const big = randomBytes(20_000_000)

/** A program that answers as notebooks do, on this machine. */
export async function startNotebook() {
  /** Requests as they arrived, streams that the test writes, and how much of the endless answer was written. */
  const seen = { requests: [] as IncomingMessage[], streams: [] as ServerResponse[], writtenBytes: 0, cutOff: 0 }
  const pages: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
    '/echo': (request, response) => request.pipe(response),
    '/headers': (request, response) => {
      const { method, url, rawHeaders } = request
      response.end(JSON.stringify({ method, url, rawHeaders }))
    },
    '/big': (_request, response) => void response.end(big),
    '/endless': (_request, response) => {
      response.once('close', () => {
        seen.cutOff += 1
      })
      const write = () => {
        do seen.writtenBytes += 100_000
        while (response.write(big.subarray(0, 100_000)))
      }
      response.on('drain', write)
      write()
    },
    '/length': (request, response) => {
      let length = 0
      request
        .on('error', () => {})
        .on('data', chunk => {
          length += chunk.length
        })
      request.once('end', () => response.end(String(length)))
    },
    '/events': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      seen.streams.push(response)
    },
    '/cookies': (_request, response) => {
      response.setHeader('set-cookie', ['user=1; Path=/', 'wide=1; Domain=example.com; Path=/', 'berth-notebook=evil'])
      response.setHeader('clear-site-data', '"cookies"')
      response.setHeader('alt-svc', 'h3=":443"')
      response.end()
    },
    '/cut': (_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('a part', () => response.destroy())
    },
    '/garbage': (_request, response) => void response.socket?.end('HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n'),
    '/gone': (_request, response) => void response.destroy(),
    '/missing': (_request, response) => void response.writeHead(404).end('not here'),
  }
  const server = createServer((request, response) => {
    seen.requests.push(request)
    const page = pages[(request.url ?? '').split('?')[0] ?? '']
    if (page) page(request, response)
    else response.end('a notebook')
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    seen.requests.push(request)
    if (request.url?.startsWith('/no-socket'))
      return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
    sockets.handleUpgrade(request, socket, head, opened => {
      opened.on('message', (data, isBinary) => opened.send(data, { binary: isBinary }))
      opened.once('close', () => {
        seen.cutOff += 1
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    seen,
    /** Connects all containers with it. */
    provider: {
      async connect() {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        await once(socket, 'connect').catch(() => {
          throw new PortRefused('Nothing listens.')
        })
        return streamOf(socket)
      },
    } satisfies Pick<Provider, 'connect'>,
    close() {
      server.closeAllConnections()
      for (const socket of sockets.clients) socket.terminate()
      server.close()
    },
  }
}

/** A stream without what sockets have besides, as drivers give it. */
function streamOf(socket: Socket): Duplex {
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, encoding, done) => void socket.write(chunk, encoding, done),
    final: done => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', chunk => stream.push(chunk) || socket.pause())
  socket.once('end', () => stream.push(null))
  socket.once('error', error => stream.destroy(error))
  return stream
}
