import { expect, it } from 'vitest'
import { demoModels } from '../../../prisma/gpu-models.ts'
import { ramGbOf } from '../../../src/domain/machines/gpu-ram.ts'

const marketed: Record<string, number> = {
  'RTX 3080': 10,
  'RTX 2080 Ti': 11,
  'RTX 4070': 12,
  'RTX 5080': 16,
  'Tesla T4': 16,
  'RTX 4000Ada': 20,
  'RTX 3090': 24,
  'RTX 4090': 24,
  A10: 24,
  L4: 24,
  'RTX 5090': 32,
  A40: 48,
  L40S: 48,
  'A100 SXM4': 80,
  'H100 SXM': 80,
  'H100 NVL': 94,
  'RTX PRO 6000 WS': 96,
  'Instinct MI250X': 128,
  H200: 141,
  B200: 180,
  'Instinct MI300X': 192,
}

it.each(Object.entries(marketed))('calls the memory of %s %i GB, as its maker does', (name, expected) => {
  const model = demoModels.find(({ gpuModel }) => gpuModel.name === name)
  expect(ramGbOf(model?.gpuModel.ramMb ?? 0)).toBe(expected)
})

it.each([1, 2, 3, 4, 5, 6, 8, 22, 36, 40, 64, 72, 144, 256, 288, 384, 512])(
  'calls %i GB so if the card reports a little less',
  size => {
    expect(ramGbOf(Math.floor(size * 1024 * 0.985))).toBe(size)
  },
)

it.each([
  [1, 1],
  [13_312, 13],
  [1_000_000, 977],
])('rounds %i MB, which no card has, up to %i GB', (ramMb, expected) => {
  expect(ramGbOf(ramMb)).toBe(expected)
})
