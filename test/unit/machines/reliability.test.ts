import { expect, it } from 'vitest'
import { isReliabilityOutdated, reliabilityOf } from '../../../src/domain/machines/reliability.ts'

const month = 30 * 86_400

it.each([
  ['is what was listed without failures', { silentSeconds: 0, failedAccounts: 0 }, 0.98765],
  ['falls with the share of 30 days without an answer', { silentSeconds: month / 2, failedAccounts: 0 }, 0.98765 / 2],
  ['is 0 after 30 days without an answer', { silentSeconds: month + 60, failedAccounts: 0 }, 0],
  ['halves with failed starts of 20 accounts', { silentSeconds: 0, failedAccounts: 20 }, 0.98765 / 2],
  ['loses less than a twentieth by one account', { silentSeconds: 0, failedAccounts: 1 }, (0.98765 * 20) / 21],
])('%s', (_what, history, expected) => {
  expect(reliabilityOf(0.98765, history)).toBeCloseTo(expected, 12)
})

it('is written if it changes by 0.001, or back to what was listed', () => {
  expect(isReliabilityOutdated(0.9, 0.8995, 1)).toBe(false)
  expect(isReliabilityOutdated(0.9, 0.899, 1)).toBe(true)
  expect(isReliabilityOutdated(0.9995, 1, 1)).toBe(true)
  expect(isReliabilityOutdated(1, 1, 1)).toBe(false)
})
