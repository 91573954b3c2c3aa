import { expect, it } from 'vitest'
import { connectionLifetimeMs, createRepeatedNames } from '../../../src/database/statement-names.ts'

const use = (nameOf: (text: string) => string, text: string, times: number) =>
  Array.from({ length: times }, () => nameOf(text))

/** How often a text must be used to get a name. */
function usesUntilNamed(nameOf: (text: string) => string, text: string): number {
  for (let uses = 1; uses < 100_000; uses += 1) if (nameOf(text) !== '') return uses
  throw new Error('The text got no name.')
}

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

it('asks for twice as many uses after each ten names', () => {
  const nameOf = createRepeatedNames()
  const needed = Array.from({ length: 40 }, (_, number) => usesUntilNamed(nameOf, `SELECT ${number}`))
  expect(needed).toEqual([3, 6, 12, 24].flatMap(uses => Array(10).fill(uses)))
})

it('names a text that is used 100 times, even if 139 others repeated before', () => {
  const nameOf = createRepeatedNames()
  const others = Array.from({ length: 139 }, (_, number) => use(nameOf, `SELECT ${number}`, 3)[2])
  expect(others.filter(Boolean)).toHaveLength(10)
  expect(usesUntilNamed(nameOf, 'SELECT 1000')).toBeLessThan(100)
})

it('names at most 150 texts in the lifetime of a connection', () => {
  let now = 0
  const nameOf = createRepeatedNames(() => now)
  for (let number = 0; number < 150; number += 1) usesUntilNamed(nameOf, `SELECT ${number}`)
  now = connectionLifetimeMs
  expect(use(nameOf, 'SELECT 150', 100_000).some(Boolean)).toBe(false)
  expect(nameOf('SELECT 149')).not.toBe('')
  now += 1
  expect(usesUntilNamed(nameOf, 'SELECT 150')).toBe(3)
})

it('remembers the uses of a frequent text while it counts thousands of others', () => {
  const nameOf = createRepeatedNames()
  const useOthers = (from: number) => {
    for (let number = from; number < from + 2_500; number += 1) nameOf(`SELECT ${number}`)
  }
  for (let number = 0; number < 30; number += 1) usesUntilNamed(nameOf, `SELECT -${number}`)
  use(nameOf, 'once', 1)
  use(nameOf, 'often', 23)
  useOthers(0)
  expect(usesUntilNamed(nameOf, 'once')).toBe(24)
  use(nameOf, 'rare', 1)
  // After 1,000 other texts, it has one use less.
  expect(usesUntilNamed(nameOf, 'often')).toBe(3)
})
