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
  ['NVIDIA GeForce RTX 4090', ['RTX 4090']],
  ['NVIDIA RTX 4080 16GB', ['RTX 4080']],
  ['NVIDIA H100 80GB HBM3', ['H100 SXM', 'H100 PCIe']],
  ['A100-SXM4-80GB', ['A100 PCIe']],
  ['H1O0', ['H100 SXM', 'H100 PCIe']],
  ['toaster', []],
  ['GeForce', []],
  ['', []],
])('%j is most like %j', (text, expected) => {
  expect(nearestNames(text, models)).toEqual(expected)
})

it('takes the longest of the names that a text has among its words', () => {
  expect(nearestNames('GeForce RTX 3090 Ti', ['RTX 3090', 'RTX 3090 Ti', 'Ti'])).toEqual(['RTX 3090 Ti'])
})

it('suggests at most three names, and nothing for what is like none', () => {
  expect(suggestNames('H100', models)).toBe(' Did you mean "H100 SXM" or "H100 PCIe"?')
  expect(suggestNames('a', ['aa', 'ab', 'ac', 'ad'])).toBe(' Did you mean "aa", "ab" or "ac"?')
  expect(suggestNames('toaster', models)).toBe('')
})
