// WebSockets at the transport level, with an echo face instead of GraphQL.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createLog } from '../../../src/http/log.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { type Channel, createSockets, type SocketLimits, socketLimits } from '../../../src/http/sockets.ts'
import { sendAtOnce } from '../../support/streams.ts'

const cleanups: (() => void)[] = []

afterEach(() => {
  for (const close of cleanups.splice(0)) close()
})

/** A server with a face that echoes each message. */
async function startSocketServer(limits: Partial<SocketLimits> = {}, onLeave: (channel: Channel) => void = () => {}) {
  const channels: Channel[] = []
  const codes: number[] = []
  const open = (channel: Channel) => {
    channels.push(channel)
    channel.onMessage(async text => {
      if (text === 'a valid key') channel.accept()
      await channel.send(text)
    })
    return { onClose: async (code: number) => void codes.push(code), closeWhenIdle: () => onLeave(channel) }
  }
  const log = createLog('silent', { write: () => {} })
  const sockets = createSockets({ face: { protocol: 'echo', open }, log, limits: { ...socketLimits, ...limits } })
  const server = createHttpServer(async () => new Response('over HTTP'), sockets).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    sockets.stop()
    server.close()
  })
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`
  const connect = async (options = {}) => {
    const socket = new WebSocket(url, 'echo', options)
    cleanups.push(() => socket.terminate())
    await once(socket, 'open')
    return socket
  }
  return { url, channels, codes, sockets, connect }
}

describe('a WebSocket', () => {
  it('stays open while the client answers pings', async () => {
    const { codes, connect } = await startSocketServer({ heartbeatMs: 500 })
    const socket = await connect()
    for (let beat = 1; beat <= 4; beat += 1) await once(socket, 'ping')
    socket.send('still here')
    expect(String((await once(socket, 'message'))[0])).toBe('still here')
    expect(codes).toEqual([])
  })

  it.each([
    ['does not answer pings', () => {}],
    ['sends a wrong pong', (socket: WebSocket) => socket.pong('anything')],
  ])('closes when the client %s', async (_name, answer) => {
    const { codes, connect } = await startSocketServer({ heartbeatMs: 50 })
    const socket = await connect({ autoPong: false })
    socket.on('ping', () => answer(socket))
    await once(socket, 'close')
    await expect.poll(() => codes).toEqual([1006])
  })

  it('closes when its send buffer exceeds the limit', async () => {
    const { codes, connect, channels } = await startSocketServer({ bufferedBytes: 1_000_000 })
    const socket = await connect()
    socket.pause()
    let sent = 0
    while (codes.length === 0) {
      void channels[0]?.send('x'.repeat(100_000))
      await new Promise(setImmediate)
      sent += 1
      // The operating system buffers a few megabytes.
      expect(sent).toBeLessThan(300)
    }
    expect(codes).toEqual([1006])
  })

  it('closes at a ping when the client does not read its answers', async () => {
    const { codes, connect, channels } = await startSocketServer({ bufferedBytes: 1_000_000 })
    const socket = await connect()
    socket.pause()
    // This is far more than the operating system buffers. The only later message is the pong.
    void channels[0]?.send('x'.repeat(30_000_000))
    await new Promise(setImmediate)
    expect(codes).toEqual([])
    socket.ping()
    await expect.poll(() => codes).toEqual([1006])
  })

  it.each([
    ['messages', 0x81],
    ['pings', 0x89],
  ])('closes before it has sent a valid key when it sends many %s', async (_what, opcode) => {
    const { connect } = await startSocketServer()
    const socket = await connect()
    let answers = 0
    socket.on('message', () => (answers += 1)).on('pong', () => (answers += 1))
    sendAtOnce(socket, 'again', 500, opcode)
    const [code, reason] = await once(socket, 'close')
    expect([code, String(reason)]).toEqual([1008, 'Too many messages before a valid key'])
    expect(answers).toBeLessThanOrEqual(socketLimits.unknownMessages)
  })

  it.each([
    ['messages', 0x81],
    ['pings', 0x89],
  ])('answers its %s one by one, so that others take turns', async (_what, opcode) => {
    const { connect } = await startSocketServer()
    const socket = await connect()
    socket.send('a valid key')
    await once(socket, 'message')
    let answers = 0
    socket.on('message', () => (answers += 1)).on('pong', () => (answers += 1))
    sendAtOnce(socket, 'again', 2_000, opcode)
    let turns = 0
    const turn = () => {
      turns += 1
      if (answers < 2_000) setImmediate(turn)
    }
    turn()
    await expect.poll(() => answers, { timeout: 30_000 }).toBe(2_000)
    expect(turns).toBeGreaterThan(1_900)
  })

  it('reads less of a client whose messages take much time', async () => {
    const { connect, channels } = await startSocketServer()
    const socket = await connect()
    socket.send('a valid key')
    await once(socket, 'message')
    let worked = 0
    channels[0]?.onMessage(async () => {
      worked += 1
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    })
    // One read brings few of them.
    const big = 'x'.repeat(60_000)
    const start = performance.now()
    for (let sent = 0; sent < 60; sent += 1) socket.send(big)
    await expect.poll(() => worked, { timeout: 60_000 }).toBe(60)
    // 1.2 seconds of work, of which 0.5 come at once, and the others in a fifth of the time.
    expect(performance.now() - start).toBeGreaterThan(2_500)
  })

  it('takes the place of the oldest that has sent no valid key', async () => {
    const { connect, codes } = await startSocketServer({ sockets: 3 })
    const [known, oldest, newer] = [await connect(), await connect(), await connect()]
    known.send('a valid key')
    await once(known, 'message')
    await connect()
    await expect.poll(() => codes).toEqual([1006])
    const { OPEN, CLOSED } = WebSocket
    const states = () => [known, oldest, newer].map(({ readyState }) => readyState)
    await expect.poll(states).toEqual([OPEN, CLOSED, OPEN])
  })

  it('is refused with 503 if all others have sent valid keys', async () => {
    const { url, connect: open } = await startSocketServer({ sockets: 2 })
    const connect = async () => {
      const socket = await open()
      socket.send('a valid key')
      await once(socket, 'message')
      return socket
    }
    await connect()
    const second = await connect()
    const refused = async () => {
      const [, response] = await once(
        new WebSocket(url, 'echo').on('error', () => {}),
        'unexpected-response',
      )
      return response.statusCode
    }
    expect(await refused()).toBe(503)
    second.close()
    await once(second, 'close')
    await connect()
    expect(await refused()).toBe(503)
  })

  it('closes with 1001 when its gateway stops, or with 1006 after the grace period', async () => {
    const graceful = await startSocketServer({}, channel => channel.close(1001, 'This gateway is stopping'))
    const stubborn = await startSocketServer({ graceMs: 50 })
    for (const [{ sockets, connect, url }, code] of [
      [graceful, 1001],
      [stubborn, 1006],
    ] as const) {
      const socket = await connect()
      sockets.stop()
      expect((await once(socket, 'close'))[0]).toBe(code)
      const [, response] = await once(
        new WebSocket(url, 'echo').on('error', () => {}),
        'unexpected-response',
      )
      expect(response.statusCode).toBe(503)
    }
  })
})
