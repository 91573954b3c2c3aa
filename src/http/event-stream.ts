// Server-Sent Events, written straight to the response: as a stream of the fetch API, an open answer takes twice the memory.

import type { ServerResponse } from 'node:http'

/** The events of an answer. */
export type EventStream<Item = unknown> = {
  /** Closed when the answer is over, whether the client has left or has received all. */
  items: AsyncIterator<Item, undefined>
  print(item: Item): string
  /** The last event, after all items. */
  completion: string
  /** Called when an item or its text cannot be had. The answer breaks off. */
  onFailure(error: unknown): void
}

/** Tell proxies to forward each event at once and to cache none. nginx buffers a stream without the first. */
export const unbufferedHeaders = { 'x-accel-buffering': 'no', 'cache-control': 'no-store, no-transform' }

export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  'content-encoding': 'none',
  ...unbufferedHeaders,
}

/** Keeps the connection alive in proxies. Clients ignore it. */
export const comment = ':\n\n'
const commentMs = 12_000

/** Sends the events until they or the client end. A client that does not read holds up its own events. */
export function sendEvents(response: ServerResponse, { items, print, completion, onFailure }: EventStream): void {
  const close = () => {
    items.return?.().catch(onFailure)
  }
  if (response.destroyed) {
    close()
    return
  }
  let proceed = () => {}
  // Some clients wait for the first byte of a body before they show that the stream is open.
  response.write(comment)
  const timer = setInterval(() => {
    if (!response.writableNeedDrain) response.write(comment)
  }, commentMs)
  response.on('drain', () => proceed())
  response.once('close', () => {
    clearInterval(timer)
    close()
    proceed()
  })
  forgetHead(response)
  void sendItems().catch(error => {
    onFailure(error)
    response.destroy()
  })

  async function sendItems(): Promise<void> {
    for (let item = await items.next(); !item.done; item = await items.next()) {
      if (response.destroyed) return
      if (response.write(print(item.value))) continue
      await new Promise<void>(resolve => {
        proceed = resolve
      })
    }
    response.end(completion)
  }
}

/** Frees the headers of the request, which its connection would hold as long as the stream is open. */
function forgetHead({ req: request }: ServerResponse): void {
  request.rawHeaders = []
  request.headers = {}
}
