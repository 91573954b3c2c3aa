import { once } from 'node:events'
import { type HttpRequest, openSocket, writeRequest } from './connection.ts'

export type Stream = { close(): void }

const result = 'event: next\n'

/** Opens a GraphQL subscription over Server-Sent Events. Calls `onResults` with the number of results that arrive together. */
export async function openStream(url: URL, request: HttpRequest, onResults: (count: number) => void): Promise<Stream> {
  const socket = await openSocket(url)
  writeRequest(socket, { ...request, headers: { ...request.headers, accept: 'text/event-stream' } })
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
