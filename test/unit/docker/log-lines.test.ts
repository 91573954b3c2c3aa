import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { readFrames } from '../../../src/providers/docker/engine/frames.ts'
import { joinLines, type Line, nanoseconds } from '../../../src/providers/docker/log/lines.ts'

const instant = (nanos: number) => `2026-11-26T00:10:00.${String(nanos).padStart(9, '0')}Z`

function frame(source: 1 | 2, text: string): Buffer {
  const payload = Buffer.from(text)
  const header = Buffer.alloc(8)
  header[0] = source
  header.writeUInt32BE(payload.length, 4)
  return Buffer.concat([header, payload])
}

async function linesOf(...frames: Buffer[]) {
  const bytes = Buffer.concat(frames)
  // One byte at a time: frames and their headers are divided anywhere.
  const stream = Readable.from(Array.from(bytes, byte => Buffer.from([byte])))
  const lines: Line[] = []
  for await (const line of joinLines(readFrames(stream))) lines.push(line)
  return lines
}

it('reads both outputs with their times', async () => {
  expect(await linesOf(frame(1, `${instant(1)} out\n`), frame(2, `${instant(2)} an error\r\n`))).toEqual([
    { time: nanoseconds(instant(1)), text: 'out', source: 'stdout' },
    { time: nanoseconds(instant(2)), text: 'an error', source: 'stderr' },
  ])
})

it('joins the pieces of a long line, and cuts it', async () => {
  const pieces = ['x', 'x', 'x\n'].map(end => frame(1, `${instant(1)} ${'x'.repeat(2_000)}${end}`))
  const lines = await linesOf(pieces[0] as Buffer, frame(2, `${instant(2)} between\n`), ...pieces.slice(1))
  expect(lines.map(({ text }) => text.length)).toEqual([7, 4_096])
})

it('leaves out a line that is not complete', async () => {
  expect(await linesOf(frame(1, `${instant(1)} begun`))).toEqual([])
})

it('takes any bytes', async () => {
  const line = Buffer.concat([Buffer.from(`${instant(1)} `), Buffer.from([0, 255, 254, 10])])
  expect(await linesOf(frame(1, ''), frame(1, line.toString('latin1')))).toMatchObject([{ source: 'stdout' }])
})

it('keeps the nanoseconds of an instant', () => {
  expect(nanoseconds('2026-11-26T00:10:00.123456789Z') % 1_000_000_000n).toBe(123_456_789n)
  expect(nanoseconds('1970-01-01T00:00:01.5Z')).toBe(1_500_000_000n)
  expect(nanoseconds('no instant')).toBe(0n)
})
