import { describe, expect, it } from 'vitest'
import { type Condition, type OfferFilter, parseCondition } from '../../../src/domain/offers/filter.ts'
import { defaultPricing, type Offer } from '../../../src/domain/offers/offers.ts'
import { createOfferReader, createView } from '../../../src/services/offers/reader.ts'

const all: OfferFilter = { conditions: [], anyOf: [] }

/** A reader with one offer for each machine. The test decides when each read ends. */
function readingsOf() {
  const asked: number[][] = []
  const answers: PromiseWithResolvers<void>[] = []
  const readings = createOfferReader(async machineIds => {
    asked.push(machineIds)
    const answer = Promise.withResolvers<void>()
    answers.push(answer)
    await answer.promise
    const machine = { diskPricePerGbMonthNanos: 0n, listedUntil: new Date(0) }
    const rates = { gpuPriceNanos: 1n, minBidNanos: 2n, numGpus: 1 }
    return machineIds.map(machineId => ({ id: BigInt(asked.length), machineId, machine, ...rates }) as unknown as Offer)
  })
  const ask = (...machineIds: number[]) => readings(machineIds, createView(all, defaultPricing))
  return { asked, answers, readings, ask }
}

describe('the offers of changed machines', () => {
  it('are read once for all requests of the same moment', async () => {
    const { asked, answers, ask, readings } = readingsOf()
    const asking = [
      ask(1),
      ask(1, 2),
      ask(2),
      ask(3),
      readings([3], createView(all, { rentalKind: 'interruptible', diskMb: 0 })),
    ]
    await expect.poll(() => asked).toEqual([[1, 2, 3]])
    answers[0]?.resolve()
    const found = await Promise.all(asking)
    expect(found.map(each => each.map(({ offer }) => offer.machineId))).toEqual([[1], [1, 2], [2], [3], [3]])
    expect(found.slice(3).map(([one]) => one?.offer.price.totalNanos)).toEqual([1n, 2n])
    expect(found[0]?.[0]?.snapshot).toBe(found[1]?.[0]?.snapshot)
    expect(asked).toHaveLength(1)
  })

  it('are priced and filtered once for all streams with the same view', async () => {
    const { answers, readings } = readingsOf()
    const machine: Condition = { field: 'machineId', operator: 'eq', value: 1 }
    const elsewhere = (country: string): OfferFilter => ({
      conditions: [machine, parseCondition('country', 'neq', country) as Condition],
      anyOf: [],
    })
    const views = [elsewhere('DE'), elsewhere('de'), all].map(each => createView(each, defaultPricing))
    const asking = views.map(view => readings([1, 2], view))
    await expect.poll(() => answers.length).toBe(1)
    answers[0]?.resolve()
    const [one = [], same = [], other = []] = await Promise.all(asking)
    expect([one, same, other].map(({ length }) => length)).toEqual([1, 1, 2])
    expect(one[0]).toBe(same[0])
  })

  it('are read again, after the current read, for a request that comes during it', async () => {
    const { asked, answers, ask } = readingsOf()
    const early = ask(1)
    await expect.poll(() => asked.length).toBe(1)
    const late = ask(1)
    answers[0]?.resolve()
    expect((await early)[0]?.offer.id).toBe(1n)
    await expect.poll(() => asked).toEqual([[1], [1]])
    answers[1]?.resolve()
    expect((await late)[0]?.offer.id).toBe(2n)
  })

  it('are read for at most 200 machines at a time', async () => {
    const { asked, answers, ask } = readingsOf()
    const all = ask(...Array.from({ length: 250 }, (_, index) => index))
    await expect.poll(() => asked.length).toBe(1)
    answers[0]?.resolve()
    await expect.poll(() => asked.map(({ length }) => length)).toEqual([200, 50])
    answers[1]?.resolve()
    expect(await all).toHaveLength(250)
  })

  it('fail only the waiting requests, and no later request, if they cannot be read', async () => {
    const { asked, answers, ask } = readingsOf()
    const failed = Promise.allSettled([ask(1), ask(1, 2)])
    await expect.poll(() => asked.length).toBe(1)
    answers[0]?.reject(new Error('gone'))
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = ask(1)
    await expect.poll(() => asked.length).toBe(2)
    answers[1]?.resolve()
    expect(await next).toHaveLength(1)
  })
})
