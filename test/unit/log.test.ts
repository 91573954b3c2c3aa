import { describe, expect, it } from 'vitest'
import { Prisma } from '../../src/database/generated/client.ts'
import { createLog } from '../../src/http/log.ts'

/** What is written when this error is logged. */
function logged(err: unknown): string {
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
  it('has what happened and where', () => {
    const line = JSON.parse(logged(Object.assign(new Error('no such column'), { code: '42703', table: 'offers' })))
    expect(line).toMatchObject({
      level: 50,
      msg: 'It failed.',
      err: { type: 'Error', code: '42703', message: 'no such column', table: 'offers' },
    })
    expect(line.err.stack).toContain('log.test.ts')
  })

  it('has nothing of the data: neither the arguments that Prisma quotes, nor the row that PostgreSQL details', () => {
    const prisma = new Prisma.PrismaClientKnownRequestError('Invalid invocation: data: { label: "CANARY" }', {
      code: 'P2002',
      clientVersion: '7',
      meta: { modelName: 'Account', target: ['CANARY'] },
    })
    const postgres = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (email)=(CANARY) already exists.',
    })
    expect(logged(prisma) + logged(postgres)).not.toContain('CANARY')
    expect(JSON.parse(logged(prisma)).err).toEqual({
      type: 'PrismaClientKnownRequestError',
      code: 'P2002',
      model: 'Account',
    })
  })

  it('survives what is not an error', () => {
    expect(JSON.parse(logged('a text')).err).toEqual({ type: 'string' })
    expect(JSON.parse(logged(undefined)).msg).toBe('It failed.')
  })
})
