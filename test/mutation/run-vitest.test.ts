import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isDoubtful } from './run-tests.ts'
import { readFailure, resultPrefix } from './run-vitest.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

describe('a run in which no test ends for two minutes', () => {
  it.each([
    ['the first file', [], 'one.test.ts'],
    ['the file whose test ended last', [{ file: 'two.test.ts' }], 'two.test.ts'],
  ])('is ended, and fails %s', async (_, ended, file) => {
    const output = new PassThrough()
    const end = vi.fn(() => void output.end())
    const reading = readFailure(output, ['one.test.ts', 'two.test.ts'], end)
    for (const result of ended) output.write(`${resultPrefix}${JSON.stringify(result)}\n`)
    await new Promise(resolve => setImmediate(resolve))
    vi.advanceTimersByTime(119_999)
    expect(end).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(await reading).toMatchObject({ file, error: 'no test ended for too long', milliseconds: 120_000 })
    expect(end).toHaveBeenCalledOnce()
  })
})

describe('a failure', () => {
  const failure = { file: 'one.test.ts', test: 'it', error: 'expected 1 to be 2', isWholeFile: false, milliseconds: 10 }

  it.each([
    ['of a whole file', { isWholeFile: true }],
    ['after a long time', { milliseconds: 5_000 }],
    ['to get a connection', { error: 'timeout exceeded when trying to connect' }],
    ['to get an answer', { error: 'expected 503 to be 200' }],
    ['to get a result', { error: "expected 'UNAVAILABLE' to be 'CONFLICT'" }],
  ])('%s may be one of a busy computer, and is tried again', (_, part) => {
    expect(isDoubtful({ ...failure, ...part })).toBe(true)
  })

  it('otherwise is one of the mutant', () => {
    expect(isDoubtful(failure)).toBe(false)
  })
})
