import { expect, it } from 'vitest'
import { compose } from '../../../src/services/compose.ts'

const reading = { find: () => 'found' }
const writing = { save: (text: string) => text.length }

it('compose merges the methods of all parts into one object', () => {
  const noun = compose(reading, writing)
  expect([noun.find(), noun.save('four')]).toEqual(['found', 4])
})

it('a call of compose does not compile if a part repeats a method of an earlier part', () => {
  // @ts-expect-error: both parts have `find`.
  compose(reading, writing, { find: () => 'another' })
  // @ts-expect-error: no part has this method.
  expect(compose(reading, writing).remove).toBe(undefined)
})
