/** What a request's body may hold at most, on both faces. */
export const maxBodyBytes = 100_000

/** Why a body is not read: it is too large, or its sender encoded it in a way that JSON is not. */
export class BodyError extends Error {
  readonly status: 400 | 413 | 415

  constructor(status: 400 | 413 | 415, message: string) {
    super(message)
    this.status = status
  }
}

/** The body's text. It is counted while it arrives, since a length need not be declared, or be true. */
export async function readBody(request: Request): Promise<string> {
  checkEncoding(request)
  if (Number(request.headers.get('content-length')) > maxBodyBytes) throw bodyTooLarge()
  if (!request.body) return ''
  // Not a loop over the body: leaving that would cancel it, and cut the connection before the answer.
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.byteLength
    if (size > maxBodyBytes) {
      discard(reader).catch(() => {})
      throw bodyTooLarge()
    }
    chunks.push(part.value)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new BodyError(400, 'The body is not UTF-8.')
  }
}

/** Takes what still comes, for a while: many clients send all before they look for an answer. */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let left = 100 * maxBodyBytes
  for (let part = await reader.read(); !part.done && left > 0; part = await reader.read()) left -= part.value.byteLength
}

export function checkEncoding({ headers }: Request): void {
  const encoding = headers.get('content-encoding')
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw new BodyError(415, `The content encoding ${encoding} is not supported.`)
  const [, charset] = /charset="?([^";]+)/i.exec(headers.get('content-type') ?? '') ?? []
  if (charset && !/^utf-?8$/i.test(charset)) throw new BodyError(415, `The charset ${charset} is not supported.`)
}

function bodyTooLarge(): BodyError {
  return new BodyError(413, `The body is larger than ${maxBodyBytes} bytes.`)
}
