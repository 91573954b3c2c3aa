import { describe, expect, it } from 'vitest'
import { createLog } from '../../../src/http/log.ts'
import { logDestination } from '../../../src/readable-log.ts'

function logTo(isTTY: boolean, write: (log: ReturnType<typeof createLog>) => void): string {
  let text = ''
  const output = {
    write: (line: string) => {
      text += line
    },
  }
  write(createLog('info', logDestination(output, { isTTY })))
  return text
}

describe('the log on a terminal', () => {
  it('is a line for each event, with its time, level and fields', () => {
    const text = logTo(true, log => {
      log.child({ requestId: 'a-1' }).info({ method: 'GET', path: '/health', status: 200, ms: 1.5 }, 'request')
      log.warn(
        { applied: ['a', 'b'], all: Array(80).fill('x'), line: { from: 'one two' } },
        'The database was migrated.',
      )
    })
    expect(text.replaceAll(/^\d\d:\d\d:\d\d/gm, 'TIME')).toBe(
      [
        'TIME info  request method=GET path=/health status=200 ms=1.5 requestId=a-1',
        'TIME warn  The database was migrated. applied=["a","b"] all=[80 items] line={"from":"one two"}',
        '',
      ].join('\n'),
    )
  })

  it('has the stack of an error on lines of its own', () => {
    const text = logTo(true, log =>
      log.error({ err: Object.assign(new Error('cannot connect'), { code: 'EPIPE' }) }, 'It failed.'),
    )
    expect(text).toMatch(
      /^[\d:]{8} error It failed\. type=Error code=EPIPE message="cannot connect"\nError: cannot connect\n {4}at /,
    )
  })

  it('has no control characters, which a terminal obeys', () => {
    const hostile = '\u001b[2J\u009b2J\u0007'
    const text = logTo(true, log => log.error({ path: hostile, err: new Error(hostile) }, `a${hostile}`))
    expect(text).not.toMatch(/[^\P{Cc}\n]/u)
  })
})

it('the log of anything else is JSON', () => {
  const text = logTo(false, log => log.info({ path: '/health' }, 'request'))
  expect(JSON.parse(text)).toMatchObject({ level: 30, path: '/health', msg: 'request' })
})
