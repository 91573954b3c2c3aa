// An engine that answers what a test sets. It speaks the API at a socket, and runs nothing.

import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'

/** Answers by path, without the version. A function gets the query. */
export type FakeAnswers = Record<string, unknown | ((query: URLSearchParams) => unknown)>

export type FakeEngine = Awaited<ReturnType<typeof startFakeEngine>>

/** `output` is what each program prints that is run in a container. */
export async function startFakeEngine() {
  const folder = await mkdtemp(join(tmpdir(), 'berth-fake-engine-'))
  const path = join(folder, 'docker.sock')
  const asked: string[] = []
  const state = { answers: {} as FakeAnswers, output: '' }

  function answerOf(request: IncomingMessage): unknown {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://engine')
    const name = pathname.replace(/^\/v1\.\d+/, '')
    if (name === '/version') return { ApiVersion: '1.41', MinAPIVersion: '1.12' }
    asked.push(`${name}?${searchParams}`)
    if (/^\/containers\/\w+\/exec$/.test(name)) return { Id: 'run' }
    if (name === '/exec/run/json') return { Running: false, ExitCode: 0 }
    const answer = state.answers[name]
    return typeof answer === 'function' ? answer(searchParams) : answer
  }

  const server = createServer((request, response) => {
    const answer = answerOf(request)
    if (answer === undefined) response.writeHead(404).end('{"message":"No such container"}')
    else response.end(JSON.stringify(answer))
  })
  server.on('upgrade', (_, socket: Duplex) => {
    const payload = Buffer.from(state.output)
    const header = Buffer.alloc(8)
    header[0] = 1
    header.writeUInt32BE(payload.length, 4)
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
    socket.end(payload.length > 0 ? Buffer.concat([header, payload]) : '')
  })
  await new Promise<void>(resolve => server.listen(path, resolve))
  return {
    url: `unix://${path}`,
    asked,
    state,
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await rm(folder, { recursive: true })
    },
  }
}
