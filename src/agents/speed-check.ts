// Measures how fast a host that joins reaches this gateway: it downloads from here, and uploads to here, for two seconds each.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { mbpsOf, speedBytes, speedMs } from '../domain/machines/speed.ts'
import { jsonResponse } from '../http/json.ts'
import { createCheckLimit } from './check-limit.ts'

const slice = new Uint8Array(65_536)
/** A host that sends slower than it should, or goes on, is read no longer. */
const latestMs = 2 * speedMs

export function createSpeedChecks() {
  const begin = createCheckLimit(40, 'speeds')

  return {
    /** The host takes the time. */
    download(machineId: number): Response {
      const end = begin(machineId)
      const startMs = performance.now()
      let left = speedBytes
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          // A fast network takes slices without a pause, so yield here to let other requests run.
          await nextTurn()
          if (left <= 0 || performance.now() - startMs > speedMs) {
            end()
            return controller.close()
          }
          left -= slice.length
          controller.enqueue(slice.slice())
        },
        cancel: end,
      })
      setTimeout(end, latestMs).unref()
      return new Response(body, { headers: { 'content-type': 'application/octet-stream' } })
    },

    /** Answers with the speed. */
    async upload(machineId: number, request: Request): Promise<Response> {
      const end = begin(machineId)
      try {
        return jsonResponse(200, { mbps: await readingSpeed(request.body) })
      } finally {
        end()
      }
    },
  }
}

/** In Mbps, from the first bytes on. */
async function readingSpeed(body: ReadableStream<Uint8Array> | null): Promise<number> {
  const reader = body?.getReader()
  if (!reader || (await reader.read()).done) return 0
  const startMs = performance.now()
  const elapsedMs = () => performance.now() - startMs
  let bytes = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.byteLength
    if (bytes > speedBytes || elapsedMs() > latestMs) break
  }
  const mbps = mbpsOf(bytes, elapsedMs())
  reader.cancel().catch(() => {})
  return mbps
}
