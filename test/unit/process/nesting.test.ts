import { describe, expect, it } from 'vitest'
import { isTooDeep, maxNestingLevels } from '../../../src/domain/nesting.ts'

const list = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
const object = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)

describe('a JSON value', () => {
  it.each([list, object])('may have 20 levels, but not 21', make => {
    expect(isTooDeep(make(maxNestingLevels))).toBe(false)
    expect(isTooDeep(make(maxNestingLevels + 1))).toBe(true)
    expect(isTooDeep([1, 'a', null, make(maxNestingLevels)])).toBe(true)
  })

  it('is too deep with a million levels, and does not overflow the stack', () => {
    expect(isTooDeep(list(1_000_000))).toBe(true)
  })

  it.each([1, 'a', null, undefined, true, {}, []])('such as %j is not too deep', value => {
    expect(isTooDeep(value)).toBe(false)
  })
})
