import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPlaces, type Places } from '../../../src/database/places.ts'
import { type Owner, workFor } from '../../../src/turns/owners.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const patienceMs = 100
type Asked = { outcome?: 'refused' | 'connected'; giveBack(): void }
/** Asks for a place. `outcome` is undefined as long as it waits. */
function ask(places: Places, owner: Owner | undefined) {
  const asked: Asked = { giveBack: () => {} }
  workFor(owner, () =>
    places.ask(place => {
      if ('refusal' in place) asked.outcome = 'refused'
      else Object.assign(asked, { outcome: 'connected', giveBack: place.giveBack })
    }),
  )
  return asked
}
const outcomesOf = (asked: { outcome?: string }[]) => asked.map(({ outcome }) => outcome)
const times = <Value>(count: number, make: () => Value) => Array.from({ length: count }, make)

describe('places for connections', () => {
  it('are never more than there are', () => {
    const places = createPlaces(4, patienceMs)
    const asked = ['a', 'b', 'c', 'd', 'e'].map(owner => ask(places, owner))
    expect([outcomesOf(asked), places.waiting()]).toEqual([[...times(4, () => 'connected'), undefined], 1])
    asked[2]?.giveBack()
    expect([asked[4]?.outcome, places.waiting()]).toEqual(['connected', 0])
  })

  it('are not all for one owner', () => {
    const places = createPlaces(8, patienceMs)
    const many = times(20, () => ask(places, 1))
    expect(outcomesOf(many).filter(Boolean)).toHaveLength(6)
    expect(ask(places, 'another').outcome).toBe('connected')
  })

  it('are all for one owner where there are few, in turn with others', () => {
    const places = createPlaces(2, patienceMs)
    const [first, second, third] = times(3, () => ask(places, 1)) as [Asked, Asked, Asked]
    const another = ask(places, 2)
    first.giveBack()
    second.giveBack()
    expect(outcomesOf([first, second, third, another])).toEqual(times(4, () => 'connected'))
  })

  it('are all for the gateway itself', () => {
    const places = createPlaces(8, patienceMs)
    expect(outcomesOf(times(9, () => ask(places, undefined))).filter(Boolean)).toHaveLength(8)
  })

  it('go to owners in turn', () => {
    const places = createPlaces(1, patienceMs)
    const first = ask(places, 1)
    const [second, third] = [ask(places, 1), ask(places, 1)]
    const another = ask(places, 2)
    first.giveBack()
    second.giveBack()
    expect([another.outcome, third.outcome]).toEqual(['connected', undefined])
    another.giveBack()
    expect(third.outcome).toBe('connected')
  })

  it('that an owner gives back go to it again', () => {
    const places = createPlaces(4, patienceMs)
    const asked = times(7, () => ask(places, 1))
    asked[0]?.giveBack()
    asked[1]?.giveBack()
    expect(outcomesOf(asked)).toEqual([...times(5, () => 'connected'), undefined, undefined])
    for (const each of asked) each.giveBack()
    expect(outcomesOf(asked)).toEqual(times(7, () => 'connected'))
  })

  it('are refused to those that wait too long, and to no others', () => {
    const places = createPlaces(1, patienceMs)
    const first = ask(places, 1)
    const early = ask(places, 1)
    vi.advanceTimersByTime(patienceMs / 2)
    const late = ask(places, 1)
    vi.advanceTimersByTime(patienceMs / 2 + 1)
    expect([early.outcome, late.outcome, places.waiting()]).toEqual(['refused', undefined, 1])
    first.giveBack()
    expect(late.outcome).toBe('connected')
    vi.advanceTimersByTime(patienceMs)
    expect(late.outcome).toBe('connected')
  })
})
