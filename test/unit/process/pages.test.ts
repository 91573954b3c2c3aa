import { describe, expect, it } from 'vitest'
import { defaultPricing } from '../../../src/domain/offers/offers.ts'
import { parseOfferCursor, printOfferCursor } from '../../../src/domain/offers/page.ts'
import { pageOf, parsePage } from '../../../src/domain/pages.ts'

describe('a page', () => {
  it.each([
    [{}, { limit: 25, backward: false, cursor: undefined }],
    [{ first: 1 }, { limit: 1, backward: false, cursor: undefined }],
    [
      { first: 100, after: 'x' },
      { limit: 100, backward: false, cursor: 'x' },
    ],
    [{ last: 5 }, { limit: 5, backward: true, cursor: undefined }],
    [{ before: 'x' }, { limit: 25, backward: true, cursor: 'x' }],
    [
      { first: null, last: null },
      { limit: 25, backward: false, cursor: undefined },
    ],
  ])('accepts %o', (pageArguments, page) => {
    expect(parsePage(pageArguments)).toEqual(page)
  })

  it.each([
    [{ first: 0 }, 'first: must be from 1 to 100, not 0.'],
    [{ first: 101 }, 'first: must be from 1 to 100, not 101.'],
    [{ first: 1000 }, 'first: must be from 1 to 100, not 1000.'],
    [{ last: -1 }, 'last: must be from 1 to 100, not -1.'],
    [
      { first: 1, last: 1 },
      'use "first" and "after" to page forward, or "last" and "before" to page backward, but not both',
    ],
    [{ first: 1, before: 'x' }, 'not both'],
  ])('refuses %o', (pageArguments, message) => {
    expect(() => parsePage(pageArguments)).toThrow(message)
  })

  it('knows whether there are rows before and after it', () => {
    const page = { limit: 2, backward: false, cursor: undefined }
    const edges = (...nodes: number[]) => nodes.map(node => ({ node, cursor: String(node) }))
    expect(pageOf([1, 2, 3], page, String)).toEqual({ edges: edges(1, 2), hasNextPage: true, hasPreviousPage: false })
    expect(pageOf([1, 2], { ...page, cursor: 'x' }, String)).toEqual({
      edges: edges(1, 2),
      hasNextPage: false,
      hasPreviousPage: true,
    })
    expect(pageOf([3, 2, 1], { ...page, backward: true }, String)).toEqual({
      edges: edges(2, 3),
      hasNextPage: false,
      hasPreviousPage: true,
    })
  })
})

describe('a cursor', () => {
  const keys = [
    { field: 'pricePerHour', direction: 'asc' },
    { field: 'gpuName', direction: 'asc' },
    { field: 'reliability', direction: 'desc' },
    { field: 'id', direction: 'asc' },
  ] as const
  const position = [404_000_000n, 'RTX 4090', 0.1 + 0.2, 42]
  const cursor = printOfferCursor(position, [...keys], defaultPricing)
  const encodeCursor = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url')
  const scope = JSON.parse(Buffer.from(cursor, 'base64url').toString())[1]

  it('is parsed to the exact position', () => {
    expect(parseOfferCursor(cursor, [...keys], defaultPricing)).toEqual(position)
  })

  it('is refused in another order or pricing', () => {
    const message = 'This cursor belongs to another list, order or pricing: start again without it.'
    expect(() => parseOfferCursor(cursor, [...keys].reverse(), defaultPricing)).toThrow(message)
    expect(() => parseOfferCursor(cursor, [...keys], { ...defaultPricing, diskMb: 9_000 })).toThrow(message)
    expect(() => parseOfferCursor(cursor, [...keys], { ...defaultPricing, rentalKind: 'interruptible' })).toThrow(
      message,
    )
  })

  it.each([
    ['nothing', ''],
    ['noise', '%%%'],
    ['an object', encodeCursor({ v1: true })],
    ['another version', encodeCursor(['v0', scope, '1', 'a', 1, 1])],
    ['too few values', encodeCursor(['v1', scope, '1'])],
    ['too many values', encodeCursor(['v1', scope, '1', 'a', 1, 1, 1])],
    ['a price that is no integer', encodeCursor(['v1', scope, '1.5', 'a', 1, 1])],
    ['a price that is too large', encodeCursor(['v1', scope, '9'.repeat(19), 'a', 1, 1])],
    ['a number as a string', encodeCursor(['v1', scope, '1', 'a', '1', 1])],
    ['a string with NUL', encodeCursor(['v1', scope, '1', 'a\0', 1, 1])],
    ['an infinite number', Buffer.from(`["v1",${JSON.stringify(scope)},"1","a",1e999,1]`).toString('base64url')],
  ])('is refused if its content is %s', (_content, forged) => {
    expect(() => parseOfferCursor(forged, [...keys], defaultPricing)).toThrow(
      'The cursor does not belong to this list. Use one that the list has returned.',
    )
  })
})
