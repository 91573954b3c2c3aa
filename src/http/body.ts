/** Limit on a request's body, on both faces. */
export const maxBodyBytes = 100_000

/** A body that cannot be read: not UTF-8 (400), too large (413), or in an unsupported encoding (415). */
export class BodyError extends Error {
  readonly status: 400 | 413 | 415

  constructor(status: 400 | 413 | 415, message: string) {
    super(message)
    this.status = status
  }
}

/** Reads the body as text. Counts the bytes as they arrive: content-length may be missing or false. */
export async function readBody(request: Request): Promise<string> {
  checkEncoding(request)
  if (Number(request.headers.get('content-length')) > maxBodyBytes) throw bodyTooLarge()
  if (!request.body) return ''
  // Not `for await`: leaving that loop cancels the body and closes the connection before the answer.
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
    throw new BodyError(400, 'The body is not valid UTF-8.')
  }
}

/** Reads on for a while and drops the data: many clients send the whole body before they read an answer. */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let remaining = 100 * maxBodyBytes
  for (let part = await reader.read(); !part.done && remaining > 0; part = await reader.read())
    remaining -= part.value.byteLength
}

export function checkEncoding({ headers }: Request): void {
  const encoding = headers.get('content-encoding')
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw new BodyError(415, `The content encoding ${encoding} is not supported. Send the body without one.`)
  const [, charset] = /charset="?([^";]+)/i.exec(headers.get('content-type') ?? '') ?? []
  if (charset && !/^utf-?8$/i.test(charset))
    throw new BodyError(415, `The charset ${charset} is not supported. Send UTF-8.`)
}

function bodyTooLarge(): BodyError {
  return new BodyError(413, `The body is larger than ${maxBodyBytes} bytes.`)
}
