import { describe, expect, it } from 'vitest'
import { instantFilterIssues } from '../../src/domain/instants.ts'

const [noon, later] = [new Date('2026-11-21T12:00:00.000Z'), new Date('2026-11-21T12:00:00.001Z')]

describe('a filter of instants', () => {
  it.each([
    [{}],
    [{ gte: noon, lte: noon }],
    [{ gte: noon, lt: later }],
    [{ gt: noon, lte: later }],
    [{ gt: undefined, lt: noon }],
  ])('may match something: %j', filter => {
    expect(instantFilterIssues(filter, 'at')).toEqual([])
  })

  it.each([
    [{ gte: noon, lt: noon }],
    [{ gt: noon, lte: noon }],
    [{ gt: noon, lt: later }],
    [{ gte: later, lte: noon }],
  ])('is refused if it matches nothing: %j', filter => {
    const message = 'matches no time: it must end later than it starts.'
    expect(instantFilterIssues(filter, 'at')).toEqual([{ path: 'at', message }])
  })
})
