import { readFile } from 'node:fs/promises'

const timeoutMs = 60_000
const maxBytes = 134_217_728
const fileMs = 600_000

/** The toolbox of this host, if it has one. Otherwise the gateway's, which is downloaded again from time to time. */
export function createToolboxReader({ file, gateway, key }: { file: string; gateway: string; key: string }) {
  let read: { atMs: number; content: Promise<Buffer> } | undefined

  async function download(): Promise<Buffer> {
    const response = await fetch(new URL('/host/toolbox', gateway), {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (!response.ok) throw new Error(`The gateway has no toolbox for this host: it answered ${response.status}.`)
    if (Number(response.headers.get('content-length')) > maxBytes) throw new Error('The toolbox is too large.')
    return Buffer.from(await response.arrayBuffer())
  }

  return async (): Promise<Buffer> => {
    const own = await readFile(file).catch(() => undefined)
    if (own) return own
    if (read && performance.now() - read.atMs < fileMs) return await read.content
    const content = download()
    read = { atMs: performance.now(), content }
    content.catch(() => {
      read = undefined
    })
    return await content
  }
}
