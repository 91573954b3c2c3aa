// The rows of a table in a backup: frames of a length and as many bytes. An empty frame ends the table.

const lengthBytes = 4

export async function* framesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) if (chunk.length > 0) yield Buffer.concat([lengthOf(chunk.length), chunk])
  yield lengthOf(0)
}

function lengthOf(length: number): Buffer {
  const bytes = Buffer.alloc(lengthBytes)
  bytes.writeUInt32BE(length)
  return bytes
}

/** Reads what `framesOf` wrote, one table after another. */
export function createFrameReader(source: AsyncIterable<Buffer>): { readTable(): AsyncGenerator<Buffer> } {
  const chunks = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  async function read(size: number): Promise<Buffer> {
    if (rest.length < size) {
      const parts = [rest]
      for (let have = rest.length; have < size; have += parts.at(-1)?.length ?? 0) {
        const { value, done } = await chunks.next()
        if (done) throw new Error('The backup ends too early.')
        parts.push(value)
      }
      rest = Buffer.concat(parts)
    }
    const taken = rest.subarray(0, size)
    rest = rest.subarray(size)
    return taken
  }

  return {
    async *readTable() {
      for (;;) {
        const length = (await read(lengthBytes)).readUInt32BE()
        if (length === 0) return
        yield await read(length)
      }
    },
  }
}
