// A client of the Docker Engine API.

import type { Duplex, Readable } from 'node:stream'
import type { Engine } from '../../../domain/machines/engines.ts'
import { addressOf } from './address.ts'
import { EngineError } from './error.ts'
import { type Answer, type EngineRequest, type Kind, readJson, send } from './send.ts'
import { isOtherVersion, negotiateVersion } from './version.ts'

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

export async function connectEngine(engine: Pick<Engine, 'url' | 'tls'>, signal: AbortSignal): Promise<EngineClient> {
  const address = addressOf(engine)
  let version = await negotiateVersion(address, signal)

  /** An engine may have been replaced by an older or a newer one since the version was negotiated. */
  async function ask<Value>(
    request: EngineRequest,
    kind: Kind,
    read: (answer: Answer) => Value | Promise<Value>,
  ): Promise<Value> {
    const asked = version
    const sendAs = (now: string) => send(address, { ...request, path: `/v${now}${request.path}` }, kind, read)
    try {
      return await sendAs(asked)
    } catch (error) {
      if (!isOtherVersion(error)) throw error
      version = await negotiateVersion(address, request.signal)
      if (version === asked) throw error
      return await sendAs(version)
    }
  }

  return {
    call: (method, path, options) => ask({ method, path, ...options }, 'call', readJson) as Promise<never>,
    stream: (method, path, options) => ask({ method, path, ...options }, 'stream', ({ body }) => body),
    readStart: (path, { maxBytes, ...options }) =>
      ask({ method: 'GET', path, ...options }, 'stream', answer => readStart(answer, maxBytes)),
    upgrade: (path, options) =>
      ask({ method: 'POST', path, ...options }, 'upgrade', ({ status, socket }) => {
        if (socket) return socket
        throw new EngineError(status, 'The engine did not upgrade the connection.')
      }),
  }
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
