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
    const condition = 'invalid_text_representation'
    expect(JSON.parse(logError(error)).err).toEqual({ type: 'DriverAdapterError', code: '22P02', condition })
  })

  it.each([
    ['3D000', 'invalid_catalog_name', 'database "berth" does not exist'],
    ['42P01', 'undefined_table', 'relation "accounts" does not exist'],
    ['53300', 'too_many_connections', 'sorry, too many clients already'],
    ['57P01', 'admin_shutdown', 'terminating connection due to administrator command'],
    ['08P01', 'protocol_violation', 'server conn crashed?'],
  ])("says what %s means, and PostgreSQL's message, which quotes no row", (code, condition, message) => {
    const plain = JSON.parse(logError(Object.assign(new Error(message), { code }))).err
    expect(plain).toMatchObject({ code, condition, message })
    const cause = { originalCode: code, originalMessage: message }
    const driver = Object.assign(new Error('CANARY'), { name: 'DriverAdapterError', cause })
    expect(JSON.parse(logError(driver)).err).toEqual({ type: 'DriverAdapterError', code, condition, message })
    const prisma = new Prisma.PrismaClientKnownRequestError('CANARY', {
      code: 'P2010',
      clientVersion: '7',
      meta: { driverAdapterError: driver },
    })
    expect(JSON.parse(logError(prisma)).err).toMatchObject({ code: 'P2010', condition, message })
  })

  it.each([
    ['23505', 'unique_violation'],
    ['22P05', 'data_exception'],
    ['42601', 'syntax_error'],
    ['P0001', 'raise_exception'],
    ['XX000', 'internal_error'],
  ])('says what %s means, or its class, without a message, which may quote a row', (code, condition) => {
    const { err } = JSON.parse(logError(Object.assign(new Error('CANARY'), { code })))
    expect(err).toEqual({ type: 'Error', code, condition, stack: expect.stringContaining('log.test.ts') })
  })

  it('accepts values that are not errors', () => {
    expect(JSON.parse(logError('a string')).err).toEqual({ type: 'string' })
    expect(JSON.parse(logError(undefined)).msg).toBe('It failed.')
  })
})
