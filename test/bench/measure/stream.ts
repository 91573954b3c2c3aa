import { once } from 'node:events'
import { connect } from 'node:net'
import type { HttpRequest } from './connection.ts'

export type Stream = { close(): void }

const result = 'event: next\n'

/** Opens a GraphQL subscription over Server-Sent Events. Calls `onResults` with the number of results that arrive together. */
export async function openStream(
  { hostname, port }: URL,
  { path, headers, body = '' }: HttpRequest,
  onResults: (count: number) => void,
): Promise<Stream> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  const lines = Object.entries({ ...headers, accept: 'text/event-stream' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.setEncoding('latin1')
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  const [head] = (await once(socket, 'data')) as [string]
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head.slice(0, 2_000))
  let rest = ''
  socket.on('data', (text: string) => {
    const parts = (rest + text).split(result)
    // The text that names a result may continue in the next chunk.
    rest = (parts.at(-1) ?? '').slice(1 - result.length)
    if (parts.length > 1) onResults(parts.length - 1)
  })
  return { close: () => socket.destroy() }
}
