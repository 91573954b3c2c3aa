import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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
