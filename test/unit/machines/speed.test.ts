import { expect, it } from 'vitest'
import { mbpsOf, speedWarnings } from '../../../src/domain/machines/speed.ts'

it('counts megabits, also of what took no time', () => {
  expect(mbpsOf(25_000_000, 2_000)).toBe(100)
  expect(mbpsOf(0, 0)).toBe(0)
  expect(mbpsOf(1_000, 0)).toBe(8)
})

it('warns of a way that is less than half as fast as promised', () => {
  const promised = { downloadMbps: 1_000, uploadMbps: 400 }
  expect(speedWarnings(promised, { downloadMbps: 500, uploadMbps: 200 })).toEqual([])
  expect(speedWarnings(promised, { downloadMbps: 499, uploadMbps: 10.4 })).toEqual([
    'It downloads 499 Mbps between itself and this gateway, and its offers promise 1000.',
    'It uploads 10 Mbps between itself and this gateway, and its offers promise 400.',
  ])
})
