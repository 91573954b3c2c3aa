// Measures how fast this host reaches the gateway.

import { z } from 'zod'
import { mbpsOf, type Speeds, speedBytes, speedMs } from '../domain/machines/speed.ts'

const timeoutMs = 15_000
const answered = z.object({ mbps: z.number() })

/** Undefined if the gateway does not measure: an older one, or one that has done so often. */
export async function measureSpeeds(gateway: string, token: string): Promise<Speeds | undefined> {
  const url = new URL('/host/speed', gateway)
  const headers = { authorization: `Bearer ${token}` }
  try {
    const downloadMbps = await measureDownload(url, headers)
    if (downloadMbps === undefined) return undefined
    const uploadMbps = await measureUpload(url, headers)
    return uploadMbps === undefined ? undefined : { downloadMbps, uploadMbps }
  } catch {
    return undefined
  }
}

async function measureDownload(url: URL, headers: Record<string, string>): Promise<number | undefined> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs) })
  if (!response.ok || !response.body) return undefined
  const startMs = performance.now()
  let bytes = 0
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += part.byteLength
    if (bytes > speedBytes) break
  }
  return mbpsOf(bytes, performance.now() - startMs)
}

/** The gateway says how fast it was: a network card takes bytes that have not arrived. */
async function measureUpload(url: URL, headers: Record<string, string>): Promise<number | undefined> {
  const endMs = performance.now() + speedMs
  let left = speedBytes
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left <= 0 || performance.now() > endMs) return controller.close()
      left -= 65_536
      controller.enqueue(new Uint8Array(65_536))
    },
  })
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await fetch(url, { method: 'POST', headers, body, duplex: 'half', signal } as RequestInit)
  return response.ok ? answered.parse(await response.json()).mbps : undefined
}
