import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createTurnQueue } from '../../src/turns/queue.ts'

type Item = { owner: number; number: number }
type Step =
  | { kind: 'add'; owner: number }
  | { kind: 'next'; barred: number[] }
  | { kind: 'removeOver'; below: number }
  | { kind: 'removeNewest' }

const owner = fc.nat(4)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), owner }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('next' as const), barred: fc.subarray([0, 1, 2, 3, 4]) }) },
  fc.record({ kind: fc.constant('removeOver' as const), below: fc.nat(40) }),
  fc.record({ kind: fc.constant('removeNewest' as const) }),
)

/** The same queue, as a plain list of items and a list of owners in the order of their turns. */
function createModel() {
  let items: Item[] = []
  let turns: number[] = []
  const of = (one: number) => items.filter(item => item.owner === one)
  const remove = (gone: Item[]) => {
    items = items.filter(item => !gone.includes(item))
    turns = turns.filter(one => of(one).length > 0)
    return gone
  }
  return {
    count: () => items.length,
    add(item: Item) {
      items.push(item)
      if (!turns.includes(item.owner)) turns.push(item.owner)
    },
    next(barred: number[]) {
      const one = turns.find(each => !barred.includes(each))
      if (one === undefined) return undefined
      turns = [...turns.filter(each => each !== one), one]
      return remove(of(one).slice(0, 1))[0]
    },
    removeOver: (below: number) =>
      turns.flatMap(one => {
        const own = of(one)
        const rest = own.findIndex(({ number }) => number >= below)
        return remove(rest < 0 ? own : own.slice(0, rest))
      }),
    removeNewest() {
      const most = Math.max(0, ...turns.map(one => of(one).length))
      const one = turns.findLast(each => of(each).length === most)
      return one === undefined ? [] : remove(of(one).slice(-1))
    },
  }
}

it('a queue of turns does what a plain list does', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), steps => {
      const queue = createTurnQueue<number, Item>()
      const model = createModel()
      steps.forEach((one, number) => {
        if (one.kind === 'add') {
          const item = { owner: one.owner, number }
          queue.add(one.owner, item)
          model.add(item)
        } else if (one.kind === 'next')
          expect(queue.next(each => !one.barred.includes(each))).toBe(model.next(one.barred))
        else if (one.kind === 'removeOver')
          expect(queue.removeOver(item => item.number < one.below)).toEqual(model.removeOver(one.below))
        else expect(queue.removeNewest()).toEqual(model.removeNewest())
        expect(queue.count()).toBe(model.count())
      })
    }),
  )
})

it('delays nobody by more than one turn of each other owner', () => {
  fc.assert(
    fc.property(fc.array(owner, { minLength: 1, maxLength: 60 }), owners => {
      const queue = createTurnQueue<number, number>()
      for (const one of owners) queue.add(one, one)
      const served = owners.map(() => queue.next() as number)
      // Between two turns of an owner that still waits, no other has two.
      served.forEach((one, at) => {
        const before = served.lastIndexOf(one, at - 1)
        const between = at > 0 && before >= 0 ? served.slice(before + 1, at) : served.slice(0, at)
        expect(new Set(between).size).toBe(between.length)
      })
      expect(served.toSorted()).toEqual(owners.toSorted())
    }),
  )
})
