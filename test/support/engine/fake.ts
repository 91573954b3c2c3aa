// A fake of an engine's API, for what the tests' engine does not have.

import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export type FakeRequest = {
  method: string
  version: string | undefined
  path: string
  query: URLSearchParams
  body: unknown
}
type FakeAnswer = { status?: number; json?: unknown }

/** `answer` gets each request; "never" is no answer. What `exec` returns is the output of all programs, which end; with "never" they do not. */
export async function startFakeEngine(
  answer: (request: FakeRequest) => FakeAnswer | 'never' | undefined,
  exec: () => string = () => '',
): Promise<{ url: string; requests: FakeRequest[] }> {
  const requests: FakeRequest[] = []
  const server = createServer(async (message, response) => {
    const request = await readRequest(message)
    requests.push(request)
    const answered = answer(request) ?? usualAnswer(request)
    if (answered === 'never') return
    const { status = 200, json: body } = answered
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(body === undefined ? '' : JSON.stringify(body))
  })
  server.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
    socket.on('error', () => {})
    const printed = exec()
    if (printed === 'never') return
    const output = Buffer.from(printed)
    const header = Buffer.alloc(8)
    header[0] = 1
    header.writeUInt32BE(output.length, 4)
    socket.end(Buffer.concat([header, output]))
  })
  const folder = await mkdtemp(join(tmpdir(), 'berth-fake-engine-'))
  const path = join(folder, 'docker.sock')
  await new Promise<void>(resolve => server.listen(path, resolve))
  const upgraded = new Set<Duplex>()
  server.on('upgrade', (_, socket) => upgraded.add(socket))
  onTestFinished(async () => {
    for (const socket of upgraded) socket.destroy()
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })
  return { url: `unix://${path}`, requests }
}

async function readRequest(message: IncomingMessage): Promise<FakeRequest> {
  const { pathname, searchParams } = new URL(message.url ?? '/', 'http://engine')
  const isJson = message.headers['content-type'] === 'application/json'
  const body = isJson ? await json(message) : void message.resume()
  const [, version, path = ''] = /^(?:\/v([\d.]+))?(.*)$/.exec(pathname) ?? []
  return { method: message.method ?? '', version, path, query: searchParams, body }
}

function usualAnswer({ method, path }: FakeRequest): FakeAnswer {
  if (path === '/version') return { json: { ApiVersion: '1.47', MinAPIVersion: '1.24' } }
  if (path === '/info') return { json: { NCPU: 64, MemTotal: 256e9 } }
  if (path === '/containers/create') return { status: 201, json: { Id: 'made' } }
  if (path.endsWith('/exec')) return { status: 201, json: { Id: 'process' } }
  if (path.startsWith('/exec/')) return { json: { Running: false, ExitCode: 0 } }
  if (path.startsWith('/images/') && method === 'GET') return { json: { Id: 'sha256:image' } }
  if (path === '/images/create') return { json: { status: 'Pulled' } }
  return method === 'GET' ? { json: [] } : { status: 204 }
}
