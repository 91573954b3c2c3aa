import { describe, expect, it } from 'vitest'
import {
  type Condition,
  checkFilter,
  meetsCondition,
  parseCondition,
  withoutWriting,
} from '../../../src/domain/offers/filter.ts'
import { completeOrder } from '../../../src/domain/offers/order.ts'

describe('a condition', () => {
  it.each([
    ['numGpus', 'gte', 2, 2],
    ['numGpus', 'gte', '2', 2],
    ['reliability', 'gt', '0.98', 0.98],
    ['reliability', 'gt', '98e-2', 0.98],
    ['pricePerHour', 'lt', '1', 1_000_000_000n],
    ['pricePerHour', 'lt', 0.4037, 403_700_000n],
    ['pricePerHour', 'lt', 5n, 5n],
    ['pricePerHour', 'lte', 1e30, 999_999_999_000_000_000n],
    ['pricePerHour', 'gt', 0.000_000_000_1, 0n],
    ['verified', 'eq', 'true', true],
    ['verified', 'neq', false, false],
    ['gpuName', 'contains', 'RTX', 'rtx'],
  ] as const)('on %s with %s accepts %o', (field, operator, operand, value) => {
    expect(parseCondition(field, operator, operand)).toMatchObject({ field, operator, value })
  })

  it('on texts also has them as they were written, unless that is in lower case', () => {
    const condition = { field: 'country', operator: 'in', values: ['us', 'de'] } as const
    const written = parseCondition('country', 'in', ['US', 'de']) as Condition
    expect(written).toEqual({ ...condition, written: ['US', 'de'] })
    expect(parseCondition('country', 'in', ['us', 'de'])).toEqual(condition)
    const filter = { conditions: [written], anyOf: [{ conditions: [written], anyOf: [] }] }
    expect(withoutWriting(filter)).toEqual({ conditions: [condition], anyOf: [{ conditions: [condition], anyOf: [] }] })
  })

  it('with a list operator also accepts one value', () => {
    expect(parseCondition('country', 'in', 'us')).toEqual({ field: 'country', operator: 'in', values: ['us'] })
    expect(parseCondition('numGpus', 'nin', ['1', 2])).toEqual({ field: 'numGpus', operator: 'nin', values: [1, 2] })
    expect(parseCondition('numGpus', 'in', [])).toEqual({ field: 'numGpus', operator: 'in', values: [] })
  })

  it.each([
    ['numGpus', 'gte', 'many', '"many" is not a number'],
    ['numGpus', 'gte', '', '"" is not a number'],
    ['numGpus', 'gte', [1], '[1] is not a number'],
    ['numGpus', 'gte', { gte: 0 }, '{"gte":0} is not a number'],
    ['numGpus', 'eq', Number.POSITIVE_INFINITY, 'Infinity is not a number'],
    ['numGpus', 'in', [1, 'x'], '"x" is not a number'],
    ['numGpus', 'in', Array(201).fill(1), 'takes at most 200 values, not 201'],
    ['numGpus', 'contains', '1', 'does not apply to a number'],
    ['pricePerHour', 'lt', 'cheap', '"cheap" is not an amount'],
    ['gpuName', 'eq', 4090, '4090 is not a string'],
    ['gpuName', 'eq', 'RTX\0', '"RTX\\u0000" is not a string'],
    ['gpuName', 'eq', '\ud800', '"\\ud800" is not a string'],
    ['gpuName', 'gt', 'RTX', 'does not apply to a string'],
    ['verified', 'eq', 'yes', '"yes" is not a boolean'],
    ['verified', 'gte', true, 'does not apply to a boolean'],
    ['gpuName', 'eq', ['x'.repeat(100)], `["${'x'.repeat(58)}… is not a string`],
  ] as const)('on %s with %s refuses %o', (field, operator, operand, problem) => {
    expect(parseCondition(field, operator, operand)).toBe(problem)
  })

  it('accepts 200 values', () => {
    expect(parseCondition('numGpus', 'in', Array(200).fill(1))).toBeTypeOf('object')
  })

  it.each([
    ['eq', 2, [false, true, false]],
    ['neq', 2, [true, false, true]],
    ['gt', 2, [false, false, true]],
    ['gte', 2, [false, true, true]],
    ['lt', 2, [true, false, false]],
    ['lte', 2, [true, true, false]],
    ['in', [2, 3], [false, true, true]],
    ['nin', [2, 3], [true, false, false]],
  ] as const)('with %s %o matches the right values', (operator, operand, expected) => {
    const condition = parseCondition('numGpus', operator, operand) as Condition
    expect([1, 2, 3].map(value => meetsCondition(value, condition))).toEqual(expected)
  })

  it('ignores the case of texts', () => {
    const condition = parseCondition('gpuName', 'contains', 'tx 40') as Condition
    expect(meetsCondition('RTX 4090', condition)).toBe(true)
    expect(meetsCondition('RTX 3090', condition)).toBe(false)
  })
})

describe('a filter', () => {
  const condition = parseCondition('numGpus', 'eq', 1) as Condition
  const flat = (count: number) => ({ conditions: Array<Condition>(count).fill(condition), anyOf: [] })
  const nested = (levels: number): ReturnType<typeof flat> & { anyOf: never[] } =>
    ({ conditions: [], anyOf: levels === 0 ? [] : [nested(levels - 1)] }) as never

  it('may have at most 50 conditions', () => {
    expect(() => checkFilter(flat(50), [])).not.toThrow()
    expect(() => checkFilter(flat(51), [])).toThrow('filter: has 51 conditions; at most 50 are allowed.')
    expect(() => checkFilter({ conditions: [], anyOf: [flat(25), flat(26)] }, [])).toThrow('51 conditions')
  })

  it('may nest "or" at most three levels deep', () => {
    expect(() => checkFilter(nested(3), [])).not.toThrow()
    expect(() => checkFilter(nested(4), [])).toThrow('filter: nests "or" more than 3 levels deep.')
  })

  it('is refused with all of its issues', () => {
    expect(() => checkFilter(flat(51), [{ path: 'a', message: 'First.' }])).toThrow(
      'a: First. filter: has 51 conditions',
    )
  })
})

describe('an order', () => {
  it('breaks ties by price, then by id', () => {
    expect(completeOrder([{ field: 'score', direction: 'desc' }])).toEqual([
      { field: 'score', direction: 'desc' },
      { field: 'pricePerHour', direction: 'asc' },
      { field: 'id', direction: 'asc' },
    ])
  })

  it('keeps only the first key of a repeated field', () => {
    const keys = completeOrder([
      { field: 'id', direction: 'desc' },
      { field: 'id', direction: 'asc' },
    ])
    expect(keys).toEqual([
      { field: 'id', direction: 'desc' },
      { field: 'pricePerHour', direction: 'asc' },
    ])
  })

  it('may have at most four keys', () => {
    const key = { field: 'score', direction: 'asc' } as const
    expect(() => completeOrder(Array(4).fill(key))).not.toThrow()
    expect(() => completeOrder(Array(5).fill(key))).toThrow('order: must have at most 4 keys, not 5.')
  })
})
