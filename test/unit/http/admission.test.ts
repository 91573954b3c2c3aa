import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Admission, createAdmission } from '../../../src/http/admission/admission.ts'
import type { Owner, Place } from '../../../src/turns/owners.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

type Outcome = 'runs' | 'waits' | 'refused'

/** Enters, and shows what has become of the request. */
function ask(admission: Admission, owner: Owner) {
  let outcome: Outcome = 'waits'
  let place: Place | undefined
  const settle = (given: Place | undefined) => {
    place = given
    outcome = given ? 'runs' : 'refused'
  }
  const given = admission.enter(owner)
  if (given instanceof Promise) void given.then(settle)
  else settle(given)
  return { outcome: () => outcome, leave: () => place?.leave(), rest: () => place?.rest() }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const outcomes = (asked: { outcome(): Outcome }[]) => asked.map(({ outcome }) => outcome())
const limits = { places: 2, placesOfOwner: 2, waiting: 10 }

describe('a request', () => {
  it('runs at once while places are free, and otherwise when another has left', async () => {
    const admission = createAdmission(limits)
    const asked = [1, 2, 3].map(owner => ask(admission, owner))
    expect(outcomes(asked)).toEqual(['runs', 'runs', 'waits'])
    asked[0]?.leave()
    await pass(1)
    expect(outcomes(asked)).toEqual(['runs', 'runs', 'runs'])
    expect(admission.figures()).toEqual({ running: 2, waiting: 0, atOnce: 2, waited: 1, refused: 0 })
  })

  it('gives its place back once, however often it leaves', async () => {
    const admission = createAdmission(limits)
    const asked = [1, 2, 3, 4].map(owner => ask(admission, owner))
    asked[0]?.leave()
    asked[0]?.leave()
    await pass(5)
    expect(outcomes(asked)).toEqual(['runs', 'runs', 'runs', 'waits'])
  })

  it('waits for half a second in a burst', async () => {
    const admission = createAdmission(limits)
    const asked = [1, 2, 3].map(owner => ask(admission, owner))
    await pass(480)
    expect(outcomes(asked)).toEqual(['runs', 'runs', 'waits'])
    await pass(60)
    expect(outcomes(asked)).toEqual(['runs', 'runs', 'refused'])
  })

  it('waits for 50 milliseconds once the queue has lasted longer than a burst', async () => {
    const admission = createAdmission(limits)
    for (const owner of [1, 2]) ask(admission, owner)
    for (let step = 0; step < 11; step += 1) {
      ask(admission, 3)
      await pass(50)
    }
    const late = ask(admission, 3)
    await pass(40)
    expect(late.outcome()).toBe('waits')
    await pass(60)
    expect(late.outcome()).toBe('refused')
  })

  it('may wait as long as in a burst again once there was no queue', async () => {
    const admission = createAdmission(limits)
    const first = [1, 2].map(owner => ask(admission, owner))
    const refused = [3, 4].map(owner => ask(admission, owner))
    await pass(700)
    expect(outcomes(refused)).toEqual(['refused', 'refused'])
    const soon = ask(admission, 5)
    await pass(100)
    expect(soon.outcome()).toBe('refused')
    first[0]?.leave()
    await pass(40)
    const [next, last] = [ask(admission, 6), ask(admission, 7)]
    await pass(400)
    expect([next.outcome(), last.outcome()]).toEqual(['runs', 'waits'])
    first[1]?.leave()
    await pass(1)
    expect(last.outcome()).toBe('runs')
  })

  it('waits for the next turn of the event loop if this one lasts long, and is then among the first', async () => {
    const admission = createAdmission({ places: 100, placesOfOwner: 100, waiting: 100 })
    ask(admission, 'busy')
    // As a turn that computes: the time passes, and no timer runs.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 50)
    const asked = [...Array(20).fill('busy'), 'other'].map(owner => ask(admission, owner))
    vi.mocked(performance.now).mockRestore()
    expect(new Set(outcomes(asked))).toEqual(new Set(['waits']))
    vi.advanceTimersToNextTimer()
    await Promise.resolve()
    expect(outcomes(asked)).toEqual([...Array(7).fill('runs'), ...Array(13).fill('waits'), 'runs'])
    await pass(2)
    expect(new Set(outcomes(asked))).toEqual(new Set(['runs']))
  })
})

describe('owners', () => {
  it('take turns in the queue', async () => {
    const admission = createAdmission({ places: 1, placesOfOwner: 1, waiting: 10 })
    let running = ask(admission, 'first')
    const names = ['a', 'a', 'a', 'b', 'c', 'b']
    const asked = names.map((owner, index) => ({ name: `${owner}${index}`, ...ask(admission, owner) }))
    const served: string[] = []
    while (served.length < names.length) {
      running.leave()
      await pass(1)
      const next = asked.find(({ name, outcome }) => outcome() === 'runs' && !served.includes(name))
      if (!next) break
      served.push(next.name)
      running = next
    }
    expect(served).toEqual(['a0', 'b3', 'c4', 'a1', 'b5', 'a2'])
  })

  it('cannot take all places', () => {
    const admission = createAdmission({ places: 3, placesOfOwner: 2, waiting: 10 })
    const asked = ['a', 'a', 'a'].map(owner => ask(admission, owner))
    expect(outcomes(asked)).toEqual(['runs', 'runs', 'waits'])
  })

  it('get the places that another may not take, past its queue', async () => {
    const admission = createAdmission({ places: 3, placesOfOwner: 2, waiting: 10 })
    for (const owner of ['a', 'a', 'a', 'a']) ask(admission, owner)
    const other = ask(admission, 'b')
    await pass(1)
    expect(other.outcome()).toBe('runs')
  })

  it('lose their newest request to others when they fill the queue', async () => {
    const admission = createAdmission({ places: 1, placesOfOwner: 1, waiting: 3 })
    ask(admission, 'first')
    const many = ['a', 'a', 'a', 'a'].map(owner => ask(admission, owner))
    const others = ['b', 'c'].map(owner => ask(admission, owner))
    await Promise.resolve()
    expect(outcomes(many)).toEqual(['waits', 'refused', 'refused', 'refused'])
    expect(outcomes(others)).toEqual(['waits', 'waits'])
    const last = ask(admission, 'd')
    await Promise.resolve()
    expect(last.outcome()).toBe('refused')
    expect(admission.figures()).toMatchObject({ waiting: 3, refused: 4 })
  })
})

describe('a request that waits for a machine', () => {
  it('gives its place to another one, and takes none back', async () => {
    const admission = createAdmission(limits)
    const asked = ['a', 'a', 'b'].map(owner => ask(admission, owner))
    expect([asked[0]?.rest(), asked[0]?.rest()]).toEqual([true, true])
    await pass(1)
    expect(outcomes(asked)).toEqual(['runs', 'runs', 'runs'])
    asked[0]?.leave()
    expect(admission.figures()).toMatchObject({ running: 2 })
    // A stream has left before its reads begin.
    expect(asked[0]?.rest()).toBe(true)
  })

  it('is refused while too many of its owner, or of all, do, until one of them is over', () => {
    const many = { places: 10, placesOfOwner: 10, waiting: 10 }
    const admission = createAdmission(many, { total: 3, ofOwner: 2 })
    const asked = ['a', 'a', 'a', 'b', 'b'].map(owner => ask(admission, owner))
    const [first, second, third, other, last] = asked.map(({ rest }) => rest)
    expect([first?.(), second?.(), third?.(), other?.(), last?.()]).toEqual([true, true, false, true, false])
    // Those that may not wait keep their places.
    expect(admission.figures()).toMatchObject({ running: 2 })
    asked[0]?.leave()
    asked[0]?.leave()
    expect([third?.(), last?.()]).toEqual([true, false])
  })
})

it('leaves no timer behind when nothing runs and nothing waits', async () => {
  const admission = createAdmission(limits)
  const asked = [1, 2, 3].map(owner => ask(admission, owner))
  await pass(600)
  for (const one of asked) one.leave()
  await pass(40)
  expect(vi.getTimerCount()).toBe(0)
})
