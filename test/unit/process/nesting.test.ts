import { describe, expect, it } from 'vitest'
import { isTooDeep, maxNestingLevels } from '../../../src/domain/nesting.ts'

const list = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
const object = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)

describe('a value of JSON', () => {
  it.each([list, object])('may have 20 levels, and not 21', make => {
    expect(isTooDeep(make(maxNestingLevels))).toBe(false)
    expect(isTooDeep(make(maxNestingLevels + 1))).toBe(true)
    expect(isTooDeep([1, 'a', null, make(maxNestingLevels)])).toBe(true)
  })

  it('is not followed to its end', () => {
    expect(isTooDeep(list(1_000_000))).toBe(true)
  })

  it.each([1, 'a', null, undefined, true, {}, []])('like %j has no depth', value => {
    expect(isTooDeep(value)).toBe(false)
  })
})
