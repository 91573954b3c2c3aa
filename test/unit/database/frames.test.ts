import { describe, expect, it } from 'vitest'
import { createFrameReader, framesOf } from '../../../src/database/backup/frames.ts'

async function* chunksOf(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks
}

async function collect(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}

/** Cuts bytes into pieces of this size. */
function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

const tables = [Buffer.from('1\tada\n2\tbob\n'), Buffer.alloc(0), Buffer.alloc(7_000, 'x')]

async function written(): Promise<Buffer> {
  const parts = await Promise.all(
    tables.map(table => collect(framesOf(chunksOf([...cut(table, 100), Buffer.alloc(0)])))),
  )
  return Buffer.concat(parts)
}

describe('the frames of tables', () => {
  it.each([1, 3, 103, 1_000_000])(
    'are read as they were written, however they arrive (%i bytes at a time)',
    async size => {
      const reader = createFrameReader(chunksOf(cut(await written(), size)))
      for (const table of tables) expect((await collect(reader.readTable())).equals(table)).toBe(true)
    },
  )

  it('that end too early are an error', async () => {
    const bytes = await written()
    const reader = createFrameReader(chunksOf([bytes.subarray(0, -5)]))
    await collect(reader.readTable())
    await collect(reader.readTable())
    await expect(collect(reader.readTable())).rejects.toThrow('The backup ends too early.')
  })
})
