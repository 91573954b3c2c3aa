import { EventEmitter } from 'node:events'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createLogOutput } from '../../../src/http/log-output.ts'

/** A stream that keeps what is written, and finishes a write when the test says so. */
function createSlowStream() {
  const writes: string[] = []
  const unfinished: ((error?: Error) => void)[] = []
  const stream = new Writable({
    decodeStrings: false,
    emitClose: false,
    autoDestroy: false,
    write(text, _encoding, done) {
      writes.push(String(text))
      unfinished.push(done)
    },
  })
  const read = (error?: Error) => {
    while (unfinished.length > 0) unfinished.shift()?.(error)
  }
  return { stream, writes, read }
}

describe('the output of the log', () => {
  it('writes lines of one moment together and in order', async () => {
    const { stream, writes } = createSlowStream()
    const output = createLogOutput(stream)
    for (const line of ['a\n', 'b\n', 'c\n']) output.write(line)
    expect(writes).toEqual([])
    await sleep(60)
    expect(writes).toEqual(['a\nb\nc\n'])
  })

  it('writes many lines before their time', () => {
    const { stream, writes } = createSlowStream()
    const output = createLogOutput(stream)
    for (let line = 0; line < 200; line += 1) output.write(`${'x'.repeat(99)}\n`)
    expect(writes.join('')).toHaveLength(16_400)
  })

  it('writes all lines when it is flushed, and once', async () => {
    const { stream, writes } = createSlowStream()
    const output = createLogOutput(stream)
    output.write('a\n')
    output.flush()
    output.flush()
    await sleep(60)
    expect(writes).toEqual(['a\n'])
  })

  it('finishes when the last line is read', async () => {
    const { stream, writes, read } = createSlowStream()
    const output = createLogOutput(stream)
    output.write('a\n')
    let isFinished = false
    const finished = output.finish().then(() => {
      isFinished = true
    })
    await sleep(30)
    expect([writes, isFinished]).toEqual([['a\n'], false])
    const start = performance.now()
    const reading = setInterval(read, 1)
    await finished
    clearInterval(reading)
    expect(performance.now() - start).toBeLessThan(300)
  })

  it('finishes although the reader reads nothing', async () => {
    const output = createLogOutput(createSlowStream().stream)
    output.write('a\n')
    await output.finish()
  })

  it.each([
    ['with a later line', true],
    ['at the end', false],
  ])('drops lines while the reader is far behind, and says how many %s', async (_, isLater) => {
    const { stream, writes, read } = createSlowStream()
    const output = createLogOutput(stream)
    const line = `${'x'.repeat(999)}\n`
    for (let index = 0; index < 5_000; index += 1) output.write(line)
    expect(stream.writableLength).toBeLessThanOrEqual(4_000_000)
    const reading = setInterval(read, 1)
    if (isLater) {
      await expect.poll(() => stream.writableLength).toBe(0)
      output.write('last\n')
    }
    await output.finish()
    clearInterval(reading)
    const written = writes.join('').split('\n')
    expect(written.filter(text => text.startsWith('x')).length).toBe(4_000)
    const [missing, ...rest] = written.slice(4_000)
    expect(JSON.parse(missing as string)).toMatchObject({ level: 40, msg: expect.stringMatching(/^1000 lines/) })
    expect(rest).toEqual(isLater ? ['last', ''] : [''])
  })

  it('goes on writing after a write that fails, as standard error does', async () => {
    const writes: string[] = []
    const events = new EventEmitter()
    const recovering = Object.assign(events, {
      writableLength: 0,
      write(text: string, done?: () => void) {
        writes.push(text)
        if (writes.length === 1) events.emit('error', Object.assign(new Error('write EAGAIN'), { code: 'EAGAIN' }))
        done?.()
        return true
      },
    })
    const output = createLogOutput(recovering as unknown as Writable)
    for (const line of ['a\n', 'b\n']) {
      output.write(line)
      output.flush()
    }
    await output.finish()
    expect(writes).toEqual(['a\n', 'b\n', ''])
  })
})
