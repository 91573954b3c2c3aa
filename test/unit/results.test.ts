import { expect, it } from 'vitest'
import type { LogLine } from '../../src/domain/containers.ts'
import { maxResult, printLog } from '../../src/domain/results.ts'

const line = (text: string): LogLine => ({ at: new Date(0), text, source: 'stdout', cursor: '' })

it('the end of a log is kept that is too long', () => {
  const long = 'x'.repeat(maxResult)
  expect(printLog([line('first'), line(long.slice(1))], { tail: 2 })).toBe(`${long.slice(1)}\n`)
  const cut = printLog([line(long), line('last')], { tail: 2 })
  expect(cut).toHaveLength(maxResult)
  expect(cut.endsWith('x\nlast\n')).toBe(true)
})
