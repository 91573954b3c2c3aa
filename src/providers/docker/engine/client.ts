// A client of the Docker Engine API. It speaks the newest version that both sides know.

import type { Duplex, Readable } from 'node:stream'
import type { Engine } from '../../../domain/machines/engines.ts'
import { MachineUnreachable } from '../../provider.ts'
import { addressOf } from './address.ts'
import { EngineError } from './error.ts'
import { type Answer, type EngineRequest, readText, send } from './send.ts'

export type RequestOptions = Omit<EngineRequest, 'method' | 'path'>

export type EngineClient = {
  /** The JSON of the answer; undefined if the answer has none, as when nothing had to change. */
  call<Value = undefined>(method: EngineRequest['method'], path: string, options: RequestOptions): Promise<Value>
  /** The answer as it arrives. Destroying it ends the request. */
  stream(method: EngineRequest['method'], path: string, options: RequestOptions): Promise<Readable>
  /** The answer's first bytes, at most `maxBytes`. */
  readStart(path: string, options: RequestOptions & { maxBytes: number }): Promise<Buffer>
  /** A raw connection to a process. */
  upgrade(path: string, options: RequestOptions): Promise<Duplex>
}

type Version = { ApiVersion: string; MinAPIVersion?: string }

/** Minor numbers of version 1. The oldest one is Docker 20.10, the newest one is the newest that the driver was written for. */
const oldest = 41
const newest = 47

export async function connectEngine(engine: Pick<Engine, 'url' | 'tls'>, signal: AbortSignal): Promise<EngineClient> {
  const address = addressOf(engine)
  const version = await send(address, { method: 'GET', path: '/version', signal }, 'call', readJson<Version>)
  const prefix = `/v1.${chooseVersion(version)}`
  const request = (method: EngineRequest['method'], path: string, options: RequestOptions) => ({
    ...{ method, path: prefix + path, ...options },
  })
  return {
    call: (method, path, options) => send(address, request(method, path, options), 'call', readJson) as Promise<never>,
    stream: (method, path, options) => send(address, request(method, path, options), 'stream', ({ body }) => body),
    readStart: (path, { maxBytes, ...options }) =>
      send(address, request('GET', path, options), 'stream', answer => readStart(answer, maxBytes)),
    upgrade: (path, options) =>
      send(address, request('POST', path, options), 'upgrade', ({ status, socket }) => {
        if (socket) return socket
        throw new EngineError(status, 'The engine did not upgrade the connection.')
      }),
  }
}

function chooseVersion({ ApiVersion, MinAPIVersion = '1.0' }: Version): number {
  const [known, required] = [ApiVersion, MinAPIVersion].map(version => Number(/^1\.(\d+)$/.exec(version)?.[1]))
  if (known === undefined || required === undefined || !(known >= oldest && required <= newest)) {
    const message = `The engine speaks API versions ${MinAPIVersion} to ${ApiVersion}; Berth speaks 1.${oldest} to 1.${newest}.`
    throw new MachineUnreachable(message)
  }
  return Math.min(newest, known)
}

async function readJson<Value>({ body }: Answer): Promise<Value> {
  const json = await readText(body)
  return (json === '' ? undefined : JSON.parse(json)) as Value
}

async function readStart({ body }: Answer, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= maxBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxBytes)
}
