import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { type BatchOptions, type BatchWork, createBatcher } from '../../../src/services/batches.ts'
import { currentOwner, type Owner, workFor } from '../../../src/turns/owners.ts'

type Item = { name: string; accountId?: number }

/** Answers names in capitals. Items with a name in `alone` are left to be done one by one, and `bad` ones fail. */
function createTestBatcher({
  alone = [],
  bad = [],
  ...options
}: { alone?: string[]; bad?: string[] } & BatchOptions = {}) {
  const batches: string[][] = []
  const singles: string[] = []
  const waits = new Map<string, PromiseWithResolvers<void>>()
  const work: BatchWork<Item, string> = {
    accountOf: ({ accountId = 1 }) => accountId,
    async many(items) {
      batches.push(items.map(({ name }) => name))
      if (items.some(({ name }) => bad.includes(name))) throw new Error('A bad item.')
      for (const { name } of items) await waits.get(name)?.promise
      return new Map(items.filter(({ name }) => !alone.includes(name)).map(item => [item, item.name.toUpperCase()]))
    },
    async one({ name }) {
      singles.push(name)
      await waits.get(`alone ${name}`)?.promise
      if (bad.includes(name)) throw new Error(`${name} is bad.`)
      return name.toUpperCase()
    },
  }
  const ask = createBatcher(work, pino({ level: 'silent' }), options)
  const hold = (name: string) => void waits.set(name, Promise.withResolvers())
  return {
    batches,
    singles,
    hold,
    go: (name: string) => waits.get(name)?.resolve(),
    ask: (name: string, accountId?: number) => ask({ name, ...(accountId && { accountId }) }),
  }
}

describe('a batcher', () => {
  it('does the work of all calls of one turn together', async () => {
    const { ask, batches, singles } = createTestBatcher()
    const later = Promise.resolve().then(() => ask('c'))
    expect(await Promise.all([ask('a'), ask('b'), later])).toEqual(['A', 'B', 'C'])
    expect(await ask('d')).toBe('D')
    expect([batches, singles]).toEqual([[['a', 'b', 'c'], ['d']], []])
  })

  it("is nobody's work, and what is done alone is that of its caller", async () => {
    const owners: [string, Owner | undefined][] = []
    const work: BatchWork<Item, string> = {
      accountOf: () => 1,
      async many(items) {
        for (const { name } of items) owners.push([name, currentOwner()])
        return new Map(items.filter(({ name }) => name !== 'alone').map(item => [item, '']))
      },
      async one({ name }) {
        owners.push([name, currentOwner()])
        return ''
      },
    }
    const ask = createBatcher(work, pino({ level: 'silent' }), { singles: 1 })
    const asked = [
      ['a', 1],
      ['alone', 2],
      ['alone', 3],
    ] as const
    await Promise.all(asked.map(([name, owner]) => workFor(owner, () => ask({ name }))))
    const together = asked.map(([name]) => [name, undefined])
    expect(owners).toEqual([...together, ['alone', 2], ['alone', 3]])
  })

  it('lets the other items of a batch go on while one of them waits for something of its own', async () => {
    const { ask, hold, go, singles } = createTestBatcher({ alone: ['locked'] })
    hold('alone locked')
    const asked = ['a', 'locked', 'b'].map(name => ask(name))
    expect(await Promise.all([asked[0], asked[2]])).toEqual(['A', 'B'])
    go('alone locked')
    expect(await asked[1]).toBe('LOCKED')
    expect(singles).toEqual(['locked'])
  })

  it('lets accounts take turns with items that are done one by one, and bounds the slots of one account', async () => {
    const names = ['a', 'b', 'c', 'd']
    const { ask, hold, go, singles } = createTestBatcher({ alone: [...names, 'x', 'y', 'z'], singlesOfAccount: 2 })
    for (const name of [...names, 'x', 'y']) hold(`alone ${name}`)
    const asked = names.map(name => ask(name))
    await turn()
    expect(singles).toEqual(['a', 'b'])
    const others = ['x', 'y', 'z'].map(name => ask(name, 2))
    await turn()
    expect(singles).toEqual(['a', 'b', 'x', 'y'])
    for (const name of ['x', 'y']) go(`alone ${name}`)
    await Promise.all(others)
    expect(singles).toEqual(['a', 'b', 'x', 'y', 'z'])
    for (const name of names) go(`alone ${name}`)
    await Promise.all(asked)
  })

  it('holds back the items of an account that is in work, if they need the same lock', async () => {
    const { ask, hold, go, batches } = createTestBatcher({ apart: true })
    hold('a')
    const asked = [ask('a', 1)]
    await turn()
    asked.push(ask('b', 1), ask('x', 2))
    await turn()
    expect(batches).toEqual([['a'], ['x']])
    go('a')
    await Promise.all(asked)
    expect(batches).toEqual([['a'], ['x'], ['b']])
  })

  it('fails all items if the database is not reached, and repeats none', async () => {
    const singles: Item[] = []
    const lost = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const work: BatchWork<Item, string> = {
      accountOf: () => 1,
      many: () => Promise.reject(lost),
      async one(item) {
        singles.push(item)
        return 'done'
      },
    }
    const ask = createBatcher(work, pino({ level: 'silent' }))
    const outcomes = await Promise.allSettled(['a', 'b'].map(name => ask({ name })))
    expect(outcomes).toEqual(Array(2).fill({ status: 'rejected', reason: lost }))
    expect(singles).toEqual([])
  })

  it('fails a bad item alone', async () => {
    const { ask } = createTestBatcher({ bad: ['x'] })
    const outcomes = await Promise.allSettled(['a', 'x', 'b'].map(name => ask(name)))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('begins a second batch beside the first once enough items wait', async () => {
    const { ask, hold, go, batches } = createTestBatcher({ parallelFrom: 3 })
    hold('a')
    const asked = [ask('a')]
    for (const name of ['b', 'c']) {
      await turn()
      asked.push(ask(name))
    }
    await turn()
    expect(batches).toEqual([['a']])
    asked.push(ask('d'))
    await turn()
    expect(batches).toEqual([['a'], ['b', 'c', 'd']])
    asked.push(ask('e'))
    go('a')
    await Promise.all(asked)
    expect(batches).toEqual([['a'], ['b', 'c', 'd'], ['e']])
  })

  it('collects further calls while two batches are in work', async () => {
    const { ask, hold, go, batches } = createTestBatcher()
    const asked: Promise<string>[] = []
    for (const name of ['a', 'b', 'c', 'd']) {
      hold(name)
      asked.push(ask(name))
      await turn()
    }
    expect(batches).toEqual([['a'], ['b']])
    for (const name of ['a', 'b', 'c', 'd']) go(name)
    expect(await Promise.all(asked)).toEqual(['A', 'B', 'C', 'D'])
    expect(batches).toEqual([['a'], ['b'], ['c', 'd']])
  })
})
