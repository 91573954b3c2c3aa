import { expect, it } from 'vitest'
import { connectionLifetimeMs, createRepeatedNames } from '../../../src/database/statement-names.ts'

const use = (nameOf: (text: string) => string, text: string, times: number) =>
  Array.from({ length: times }, () => nameOf(text))

it('names a text from its third use on', () => {
  const nameOf = createRepeatedNames()
  const [first, second, third, fourth] = use(nameOf, 'SELECT 1', 4)
  expect([first, second]).toEqual(['', ''])
  expect(third).toMatch(/^[\w-]{43}$/)
  expect(fourth).toBe(third)
})

it('names a text alike in every gateway', () => {
  expect(use(createRepeatedNames(), 'SELECT 1', 3)).toEqual(use(createRepeatedNames(), 'SELECT 1', 3))
})

it('names at most 100 texts in the lifetime of a connection', () => {
  let now = 0
  const nameOf = createRepeatedNames(() => now)
  const countNamed = () =>
    Array.from({ length: 500 }, (_, number) => use(nameOf, `SELECT ${number}`, 3)[2]).filter(Boolean).length
  expect(countNamed()).toBe(100)
  now = connectionLifetimeMs
  expect(use(nameOf, 'SELECT 400', 3)).toEqual(['', '', ''])
  now += 1
  expect(use(nameOf, 'SELECT 400', 3)[2]).not.toBe('')
})

it('forgets how often texts were used when it has counted 1,000 of them', () => {
  const nameOf = createRepeatedNames()
  use(nameOf, 'SELECT 1', 2)
  for (let number = 0; number < 1_000; number += 1) nameOf(`SELECT -${number}`)
  expect(use(nameOf, 'SELECT 1', 3).map(Boolean)).toEqual([false, false, true])
})
