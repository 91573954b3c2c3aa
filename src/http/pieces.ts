import { setImmediate as nextTurn } from 'node:timers/promises'

const sliceBytes = 65_536

/** A body of pieces. They go to the network one by one: no copy of the whole body is held for a client that does not read. */
export function streamPieces(pieces: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.iterator]()
  return new ReadableStream({
    async pull(controller) {
      // A fast network takes pieces without a pause, so yield here to let other requests run.
      await nextTurn()
      const { done, value } = iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}

export function streamSlices(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return streamPieces(slicesOf(bytes))
}

function* slicesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += sliceBytes) yield bytes.subarray(start, start + sliceBytes)
}
