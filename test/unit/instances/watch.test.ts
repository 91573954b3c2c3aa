import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  oldestOpenXid,
  oldestToldXid,
  parseWatchCursor,
  printWatchCursor,
  type ToldRange,
  tellUpTo,
  toldNothing,
} from '../../../src/domain/instances/watch.ts'
import { printCursor } from '../../../src/domain/pages.ts'

const scope = { filterHash: 'filter', keyHash: 'key' }
const cursorOf = (told: ToldRange[]) => printWatchCursor({ ...scope, epoch: 3, told })
const invalid = { code: 'INVALID_CURSOR' }

describe('tellUpTo', () => {
  it('replaces what was told before of the same instances', () => {
    const started = tellUpTo(toldNothing, '5:5:', 40n)
    expect(started).toEqual([
      { upTo: 40n, snapshot: '5:5:' },
      { upTo: null, snapshot: null },
    ])
    const interrupted = tellUpTo(started, '7:9:8', 20n)
    expect(interrupted).toEqual([
      { upTo: 20n, snapshot: '7:9:8' },
      { upTo: 40n, snapshot: '5:5:' },
      { upTo: null, snapshot: null },
    ])
    expect(tellUpTo(interrupted, '9:9:', 40n)).toEqual([
      { upTo: 40n, snapshot: '9:9:' },
      { upTo: null, snapshot: null },
    ])
    expect(tellUpTo(interrupted, '9:9:', null)).toEqual([{ upTo: null, snapshot: '9:9:' }])
  })
})

describe('oldestOpenXid', () => {
  it.each([
    ['7:7:', 7n],
    ['7:12:7,9,11', 7n],
    ['999999999999999999:999999999999999999:', 999_999_999_999_999_999n],
  ])('reads the snapshot %s', (snapshot, xid) => expect(oldestOpenXid(snapshot)).toBe(xid))

  // PostgreSQL refuses these, too.
  it.each(['', '7', '7:7', '0:7:', '8:7:', '7:9:9', '7:9:6', '7:12:9,8', '7:12:8,8', '7:12:8,', '7:9:a', '-1:9:'])(
    'refuses the snapshot "%s"',
    snapshot => expect(oldestOpenXid(snapshot)).toBeUndefined(),
  )

  it('finds the oldest of several ranges', () => {
    const told = [
      { upTo: 4n, snapshot: '9:9:' },
      { upTo: 9n, snapshot: '7:12:8' },
      { upTo: null, snapshot: null },
    ]
    expect([oldestToldXid(told), oldestToldXid(toldNothing)]).toEqual([7n, undefined])
  })
})

describe('a cursor of a stream of instances', () => {
  it('is read as it was printed', () => {
    const ids = fc.uniqueArray(fc.bigInt(1n, 10n ** 17n), { maxLength: 20 })
    fc.assert(
      fc.property(ids, fc.boolean(), (all, isStarting) => {
        const ranges = all.toSorted((a, b) => (a < b ? -1 : 1)).map(upTo => ({ upTo, snapshot: `${upTo}:${upTo}:` }))
        const told = [...ranges, { upTo: null, snapshot: isStarting ? null : '5:9:6,8' }]
        expect(parseWatchCursor(cursorOf(told), scope)).toEqual({ ...scope, epoch: 3, told })
      }),
    )
  })

  it('is refused with another filter, and the message says so', () => {
    const read = () => parseWatchCursor(cursorOf(toldNothing), { ...scope, filterHash: 'other' })
    expect(read).toThrow(expect.objectContaining({ ...invalid, message: expect.stringContaining('another filter') }))
  })

  it.each([
    ['of another list', printCursor('events', [3, '5', '0'])],
    ['without ranges', printCursor('instanceChanges', [3, 'filter', 'key'])],
    ['with half a range', printCursor('instanceChanges', [3, 'filter', 'key', ''])],
    ['without an epoch', printCursor('instanceChanges', ['3', 'filter', 'key', '', '5:5:'])],
    ['whose last range ends', cursorOf([{ upTo: 5n, snapshot: '5:5:' }])],
    ['with ids that do not ascend', cursorOf([5n, 5n, null].map(upTo => ({ upTo, snapshot: '5:5:' })))],
    ['with a gap', cursorOf([5n, null].map(upTo => ({ upTo, snapshot: null })))],
    ['with a snapshot that is none', cursorOf([{ upTo: null, snapshot: '9:5:' }])],
    ['with an id that is none', printCursor('instanceChanges', [3, 'filter', 'key', 'x', '5:5:', '', '5:5:'])],
    ['with too many ranges', cursorOf(Array.from({ length: 60 }, (_, n) => ({ upTo: BigInt(n), snapshot: '5:5:' })))],
    ['of no kind', 'x'],
  ])('is refused %s', (_name, cursor) =>
    expect(() => parseWatchCursor(cursor, scope)).toThrow(expect.objectContaining(invalid)),
  )
})
