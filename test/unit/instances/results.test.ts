import { describe, expect, it } from 'vitest'
import type { LogLine } from '../../../src/domain/instances/containers.ts'
import { maxResultLength, printLog } from '../../../src/domain/instances/results.ts'

const line = (text: string): LogLine => ({ text, source: 'stdout' }) as LogLine

describe('a stored log', () => {
  it('is complete up to the length limit', () => {
    const lines = [line('a'), line('b'.repeat(maxResultLength - 3))]
    expect(printLog(lines, { tail: 2 })).toBe(`a\n${lines[1]?.text}\n`)
  })

  it('drops whole lines from its beginning beyond the limit', () => {
    const long = '\u{1f600}'.repeat(maxResultLength / 4)
    expect(printLog([line('first'), line(long), line('b'), line(long)], { tail: 4 })).toBe(`b\n${long}\n`)
    expect(printLog([line('x'), line(long), line('y'.repeat(maxResultLength / 2 - 2))], { tail: 3 })).toMatch(
      /^\u{1f600}/u,
    )
  })
})
