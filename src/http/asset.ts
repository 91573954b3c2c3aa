import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { parseAccept } from './accept.ts'
import { streamSlices } from './pieces.ts'

/** A static file. Each encoding is computed on first use and cached. */
export type Asset = { type: string; etag: string; encode(encoding: Encoding): Promise<Uint8Array> }

type Encoding = keyof typeof encoders
/** Best first. Higher Brotli qualities take much longer and save little. */
const encoders = {
  br: (bytes: Uint8Array) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes: Uint8Array) => zip(bytes),
  identity: async (bytes: Uint8Array) => bytes,
} satisfies Record<string, (bytes: Uint8Array) => Promise<Uint8Array>>
// Both compress in the thread pool.
const brotli = promisify(brotliCompress)
const zip = promisify<Uint8Array, Uint8Array>(gzip)

export function createAsset(bytes: Uint8Array, type: string): Asset {
  const encoded = new Map<Encoding, Promise<Uint8Array>>()
  return {
    type,
    // Weak: one tag for all encodings.
    etag: `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    encode(encoding) {
      const known = encoded.get(encoding) ?? encoders[encoding](bytes)
      encoded.set(encoding, known)
      return known
    },
  }
}

/** Answers with the file, or with 304 to a client that has it already. */
export async function answerAsset(
  { headers: requestHeaders }: Request,
  { type, etag, encode }: Asset,
  extraHeaders: Record<string, string>,
): Promise<Response> {
  const headers = { ...extraHeaders, 'content-type': type, etag, vary: 'Accept-Encoding' }
  if (matchesEtag(requestHeaders.get('if-none-match'), etag)) return new Response(null, { status: 304, headers })
  const encoding = chooseEncoding(requestHeaders.get('accept-encoding'))
  const bytes = await encode(encoding)
  const encodingHeader = encoding === 'identity' ? {} : { 'content-encoding': encoding }
  return new Response(streamSlices(bytes), {
    headers: { ...headers, ...encodingHeader, 'content-length': String(bytes.byteLength) },
  })
}

function matchesEtag(ifNoneMatch: string | null, tag: string): boolean {
  const opaque = (text: string) => text.trim().replace(/^W\//, '')
  return ifNoneMatch?.split(',').some(text => text.trim() === '*' || opaque(text) === opaque(tag)) ?? false
}

/** The best encoding that the client accepts. */
export function chooseEncoding(acceptEncoding: string | null): Encoding {
  const named = parseAccept(acceptEncoding)
  return (['br', 'gzip'] as const).find(encoding => named.includes(encoding)) ?? 'identity'
}
