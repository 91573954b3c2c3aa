import { expect, it } from 'vitest'
import { nearestNames, suggestNames } from '../../../src/domain/nearest.ts'

const models = ['RTX 4090', 'RTX 4080', 'H100 SXM', 'H100 PCIe', 'A100 PCIe', 'L40S']

it.each([
  ['H100', ['H100 SXM', 'H100 PCIe']],
  ['h100_sxm', ['H100 SXM']],
  ['RTX 4009', ['RTX 4090']],
  ['rtx4090', ['RTX 4090']],
  ['RTX 409', ['RTX 4090']],
  ['L4S0', ['L40S']],
  ['PCIe', ['H100 PCIe', 'A100 PCIe']],
  ['toaster', []],
  ['', []],
])('%j is most like %j', (text, expected) => {
  expect(nearestNames(text, models)).toEqual(expected)
})

it('suggests at most three names, and nothing for what is like none', () => {
  expect(suggestNames('H100', models)).toBe(' Did you mean "H100 SXM" or "H100 PCIe"?')
  expect(suggestNames('a', ['aa', 'ab', 'ac', 'ad'])).toBe(' Did you mean "aa", "ab" or "ac"?')
  expect(suggestNames('toaster', models)).toBe('')
})
