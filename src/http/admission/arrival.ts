import type { IncomingMessage } from 'node:http'

/**
 * Resolves once the request is here as a whole, as much of its body as Node buffers, or its client has left. Reads nothing:
 * a client that sends slowly must not hold a place meanwhile.
 */
export async function waitForArrival(request: IncomingMessage): Promise<void> {
  const { headers } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
  // Node emits a request before it parses the rest of the bytes that it has.
  await null
  if (hasArrived(request)) return
  await new Promise<void>(resolve => {
    const check = () => {
      if (!hasArrived(request)) return
      request.off('readable', check).off('close', check)
      resolve()
    }
    // Listening makes Node fill its buffer. The reader who comes later gets all of it.
    request.on('readable', check).on('close', check)
  })
}

function hasArrived(request: IncomingMessage): boolean {
  return request.complete || request.destroyed || request.readableLength >= request.readableHighWaterMark
}
