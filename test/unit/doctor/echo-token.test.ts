import { expect, it } from 'vitest'
import { createEchoToken, isEchoToken } from '../../../src/doctor/echo-token.ts'
import { createSecrets } from '../../../src/services/secrets.ts'

const secrets = createSecrets('a secret of tests')
const now = new Date('2026-11-26T12:00:00Z')
const token = createEchoToken(secrets, now)
const later = (ms: number) => new Date(now.getTime() + ms)

it('is valid for ten minutes, also where the clock is up to ten minutes behind', () => {
  const valid = [0, 599_999, -600_000].map(ms => isEchoToken(secrets, token, later(ms)))
  const invalid = [600_000, 86_400_000, -600_001].map(ms => isEchoToken(secrets, token, later(ms)))
  expect([valid, invalid]).toEqual([
    [true, true, true],
    [false, false, false],
  ])
})

it('is made with the secret alone', () => {
  const [until = '', mark = ''] = token.split('.')
  const changed = String(Number(until) + 1)
  const forged = [
    '',
    '.',
    until,
    `${until}.`,
    `.${mark}`,
    `${changed}.${mark}`,
    `${until}.${mark.slice(1)}`,
    `x.${mark}`,
  ]
  expect(forged.filter(text => isEchoToken(secrets, text, now))).toEqual([])
  expect(isEchoToken(createSecrets('another secret of tests'), token, now)).toBe(false)
})
