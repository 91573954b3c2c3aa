/** What a request's body may hold at most, on both faces. */
export const maxBodyBytes = 100_000

/** Why a body is not read at all: it is too large, or its sender encoded it in a way that JSON is not. */
export class BodyRefused extends Error {
  readonly status: 413 | 415

  constructor(status: 413 | 415, message: string) {
    super(message)
    this.status = status
  }
}

/** The body's text. It is counted while it arrives, since a length need not be declared, or be true. */
export async function readBody(request: Request): Promise<string> {
  checkEncoding(request)
  if (Number(request.headers.get('content-length')) > maxBodyBytes) throw tooLarge()
  if (!request.body) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > maxBodyBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

export function checkEncoding({ headers }: Request): void {
  const encoding = headers.get('content-encoding')
  if (encoding && encoding !== 'identity')
    throw new BodyRefused(415, `The content encoding ${encoding} is not supported.`)
  const [, charset] = /charset="?([^";]+)/i.exec(headers.get('content-type') ?? '') ?? []
  if (charset && !/^utf-?8$/i.test(charset)) throw new BodyRefused(415, `The charset ${charset} is not supported.`)
}

function tooLarge(): BodyRefused {
  return new BodyRefused(413, `The body is larger than ${maxBodyBytes} bytes.`)
}
