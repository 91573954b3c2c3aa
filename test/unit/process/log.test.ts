import { describe, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { createLog } from '../../../src/http/log.ts'

/** The log line of an error. */
function logError(err: unknown): string {
  let text = ''
  const log = createLog('info', {
    write: line => {
      text += line
    },
  })
  log.error({ err }, 'It failed.')
  return text
}

describe('the log', () => {
  it('has the error and its stack', () => {
    const line = JSON.parse(logError(Object.assign(new Error('cannot connect'), { code: 'EPIPE' })))
    expect(line).toMatchObject({
      level: 50,
      msg: 'It failed.',
      err: { type: 'Error', code: 'EPIPE', message: 'cannot connect' },
    })
    expect(line.err.stack).toContain('log.test.ts')
  })

  it('omits the arguments that Prisma quotes and the row that PostgreSQL details', () => {
    const prisma = new Prisma.PrismaClientKnownRequestError('Invalid invocation: data: { label: "CANARY" }', {
      code: 'P2002',
      clientVersion: '7',
      meta: { modelName: 'Account', target: ['CANARY'] },
    })
    const postgres = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (email)=(CANARY) already exists.',
    })
    expect(logError(prisma) + logError(postgres)).not.toContain('CANARY')
    expect(JSON.parse(logError(prisma)).err).toEqual({
      type: 'PrismaClientKnownRequestError',
      code: 'P2002',
      model: 'Account',
    })
  })

  it('omits the message of a PostgreSQL error, which may quote values', () => {
    const error = new Error('invalid input syntax for type integer: "CANARY\n    at CANARY"')
    const text = logError(Object.assign(error, { code: '22P02', table: 'offers', constraint: 'offers_check' }))
    expect(text).not.toContain('CANARY')
    const { err } = JSON.parse(text)
    expect(err).toMatchObject({ type: 'Error', code: '22P02', table: 'offers', constraint: 'offers_check' })
    expect(err.stack).toMatch(/^\s+at .*log\.test\.ts/)
  })

  it.each([
    ['25006', 'A newer version of Berth migrated the database.'],
    ['08006', 'The pooler leads to another server than DATABASE_DIRECT_URL.'],
  ])('has the message of the code %s, which is about the server', (code, message) => {
    expect(JSON.parse(logError(Object.assign(new Error(message), { code }))).err).toMatchObject({ code, message })
  })

  it("omits the values in an error of Prisma's driver", () => {
    const cause = { originalCode: '22P02', originalMessage: 'CANARY', message: 'CANARY' }
    const error = Object.assign(new Error('CANARY'), { name: 'DriverAdapterError', cause })
    expect(JSON.parse(logError(error)).err).toEqual({ type: 'DriverAdapterError', code: '22P02' })
  })

  it('accepts values that are not errors', () => {
    expect(JSON.parse(logError('a string')).err).toEqual({ type: 'string' })
    expect(JSON.parse(logError(undefined)).msg).toBe('It failed.')
  })
})
