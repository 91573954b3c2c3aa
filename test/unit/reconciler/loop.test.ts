import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { createLoop, createLoops, type Loop, type LoopOptions } from '../../../src/reconciler/loop.ts'

const log = pino({ level: 'silent' })

/** A loop over a list of due items. */
function createTestLoop(due: string[], options: Partial<LoopOptions<string>> = {}): { loop: Loop; done: string[] } {
  const done: string[] = []
  const loop = createLoop<string>({
    name: 'a test',
    leaseDue: async limit => due.splice(0, limit),
    work: async item => void done.push(item),
    log,
    ...options,
  })
  return { loop, done }
}

describe('a loop', () => {
  it('is idle once no item is due, and reports whether any item was due', async () => {
    const { loop, done } = createTestLoop(['a', 'b', 'c', 'd', 'e'], { concurrency: 2 })
    expect(await loop.idle()).toBe(true)
    expect(done).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await loop.idle()).toBe(false)
  })

  it('leases what several wake-ups announce together, after a rest', async () => {
    const due: string[] = []
    const leases: string[][] = []
    const { loop, done } = createTestLoop(due, {
      leaseDue: async limit => {
        const items = due.splice(0, limit)
        leases.push(items)
        return items
      },
      leasesAll: true,
      // Longer than three turns of a busy computer take.
      restMs: 1_000,
      pollMs: 100_000,
    })
    loop.start()
    await turn()
    for (const item of ['a', 'b', 'c']) {
      due.push(item)
      loop.wake()
      await turn()
    }
    expect(leases).toEqual([[]])
    await vi.waitFor(() => expect(done).toEqual(['a', 'b', 'c']), { timeout: 10_000 })
    expect(leases).toEqual([[], ['a', 'b', 'c']])
    await vi.waitFor(() => expect(leases).toEqual([[], ['a', 'b', 'c'], []]), { timeout: 10_000 })
    await loop.stop()
  })

  it('waits longer for what only time has made due, unless a wake-up comes', async () => {
    const due: string[] = []
    const leases: string[][] = []
    const { loop, done } = createTestLoop([], {
      async leaseDue() {
        const items = due.splice(0)
        leases.push(items)
        return items
      },
      leasesAll: true,
      restMs: 1,
      settleMs: 100_000,
      pollMs: 100_000,
    })
    loop.start()
    await turn()
    due.push('a')
    loop.wake()
    await vi.waitFor(() => expect(done).toEqual(['a']))
    await sleep(20)
    expect(leases).toEqual([[], ['a']])
    due.push('b')
    loop.wake()
    await vi.waitFor(() => expect(done).toEqual(['a', 'b']))
    await loop.stop()
  })

  it('leases nothing while it is on hold', async () => {
    const { loop, done } = createTestLoop(['a'])
    loop.hold(true)
    expect(await loop.idle()).toBe(false)
    expect(done).toEqual([])
    loop.hold(false)
    expect(await loop.idle()).toBe(true)
    expect(done).toEqual(['a'])
  })

  it('never exceeds its concurrency, and passes the running items to `leaseDue`', async () => {
    const due = ['a', 'b', 'c', 'd', 'e']
    const [inHand, busyItems] = [new Set<string>(), [] as string[][]]
    let most = 0
    const { loop } = createTestLoop(due, {
      concurrency: 2,
      leaseDue: async (limit, busy) => {
        busyItems.push([...busy])
        return due.splice(0, Math.min(limit, 1))
      },
      work: async item => {
        inHand.add(item)
        most = Math.max(most, inHand.size)
        await turn()
        inHand.delete(item)
      },
    })
    await loop.idle()
    expect(most).toBe(2)
    expect(busyItems).toContainEqual(['a'])
  })

  it('never leases more items than its concurrency leaves free', async () => {
    const due = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const requestedLimits = new Set<number>()
    const { loop, done } = createTestLoop(due, {
      concurrency: 3,
      leaseDue: async (limit, busy) => {
        requestedLimits.add(limit + busy.length)
        return due.splice(0, Math.min(limit, 2))
      },
    })
    await loop.idle()
    expect([done.length, [...requestedLimits]]).toEqual([7, [3]])
  })

  it('polls once for items that are done in the same turn, and not again after a lease that got all that is due', async () => {
    const due = ['a', 'b', 'c']
    const limits: number[] = []
    const { loop, done } = createTestLoop([], {
      pollMs: 3_600_000,
      concurrency: 4,
      leasesAll: true,
      leaseDue: async limit => {
        limits.push(limit)
        return due.splice(0, limit)
      },
    })
    loop.start()
    for (let turns = 0; turns < 10; turns += 1) await turn()
    await loop.stop()
    expect([done.length, limits]).toEqual([3, [4, 4]])
  })

  it.each([0, 1, 2, 3, 4, 5, 6])('reacts to a wake-up %i microtasks after an empty poll', async moments => {
    const due: string[] = []
    let polls = 0
    const { loop, done } = createTestLoop(due, {
      pollMs: 3_600_000,
      leaseDue: async limit => {
        polls += 1
        if (polls === 1) void waitTurns(moments)
        return due.splice(0, limit)
      },
    })
    const waitTurns = async (count: number): Promise<void> => {
      for (let moment = 0; moment < count; moment += 1) await undefined
      due.push('late')
      loop.wake()
    }
    loop.start()
    for (let turns = 0; turns < 10; turns += 1) await turn()
    await loop.stop()
    expect(done).toEqual(['late'])
  })

  it('continues after an item fails', async () => {
    const { loop, done } = createTestLoop(['a', 'b'], {
      work: async item => {
        if (item === 'a') throw new Error('No.')
        done.push(item)
      },
    })
    await loop.idle()
    expect(done).toEqual(['b'])
  })

  it('leases nothing more once it stops, and waits for running items', async () => {
    const due = ['a', 'b']
    const { loop, done } = createTestLoop(due, {
      concurrency: 1,
      work: async item => {
        await turn()
        done.push(item)
      },
    })
    loop.start()
    while (due.length === 2) await turn()
    await loop.stop()
    loop.wake()
    await turn()
    expect({ done, due }).toEqual({ done: ['a'], due: ['b'] })
  })

  it('waits for what a lease gets that it began before it stops', async () => {
    const lease = Promise.withResolvers<string[]>()
    const done: string[] = []
    const { loop } = createTestLoop([], {
      leaseDue: () => lease.promise,
      work: async item => {
        await turn()
        done.push(item)
      },
    })
    loop.start()
    const stopping = loop.stop()
    lease.resolve(['a'])
    await stopping
    expect(done).toEqual(['a'])
  })

  it('stops also when the last lease fails', async () => {
    const lease = Promise.withResolvers<string[]>()
    const { loop } = createTestLoop([], { leaseDue: () => lease.promise })
    loop.start()
    const stopping = loop.stop()
    lease.reject(new Error('No.'))
    await expect(stopping).resolves.toBeUndefined()
  })
})

describe('a loop that cannot lease', () => {
  it('counts as failing after a minute, until it leases again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    let broken = true
    const { loop } = createTestLoop([], {
      leaseDue: async () => {
        if (broken) throw new Error('No.')
        return []
      },
    })
    const other = createTestLoop([]).loop
    const loops = createLoops({ other, broken: loop })
    const wakeOnce = async () => {
      loops.wake(new Set(['other', 'broken']))
      await turn()
    }
    loops.start()
    await turn()
    vi.advanceTimersByTime(60_000)
    await wakeOnce()
    expect(loops.isFailing()).toBe(false)
    vi.advanceTimersByTime(1)
    await wakeOnce()
    expect([loops.isFailing(), other.isFailing()]).toEqual([true, false])
    broken = false
    await wakeOnce()
    expect(loops.isFailing()).toBe(false)
    await loops.stop()
    vi.useRealTimers()
  })
})

describe('a loop that leases again after a failure', () => {
  it('does not count as failing, although another wake-up comes during each lease', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    let leases = 0
    const { loop } = createTestLoop([], {
      leaseDue: async () => {
        leases += 1
        if (leases === 1) throw new Error('No.')
        await turn()
        loop.wake()
        return []
      },
    })
    loop.start()
    await turn()
    loop.wake()
    while (leases < 5) await turn()
    vi.advanceTimersByTime(60_001)
    expect(loop.isFailing()).toBe(false)
    await loop.stop()
    vi.useRealTimers()
  })
})

describe('several loops', () => {
  it('are woken by the kind of work that is due', async () => {
    const polls: string[] = []
    const counted = (name: string) => {
      const leaseDue = async () => {
        polls.push(name)
        return []
      }
      return createTestLoop([], { pollMs: 3_600_000, leaseDue }).loop
    }
    const loops = createLoops({ some: counted('some'), others: counted('others') })
    loops.start()
    await turn()
    loops.wake(new Set(['some', 'a kind of a later version']))
    await turn()
    await loops.stop()
    expect(polls).toEqual(['some', 'others', 'some'])
  })

  it('are idle when no loop makes work due for another loop', async () => {
    const [first, second]: [string[], string[]] = [['3'], []]
    const countdown = (from: string[], to: string[]) =>
      createTestLoop(from, { work: async item => void (item !== '0' && to.push(String(Number(item) - 1))) })
    const loops = createLoops({ first: countdown(second, first).loop, second: countdown(first, second).loop })
    expect(await loops.idle()).toBe(true)
    expect([...first, ...second]).toEqual([])
    expect(await loops.idle()).toBe(false)
  })

  it('do not wait for a loop that always has work', async () => {
    const greedy = createTestLoop([], { leaseDue: async () => ['more'], work: async () => void (await turn()) })
    const rare = ['once']
    const other = createTestLoop(rare)
    const loops = createLoops({ greedy: greedy.loop, other: other.loop })
    loops.start()
    for (let turns = 0; other.done.length === 0 && turns < 100; turns += 1) await turn()
    rare.push('twice')
    loops.wake(new Set(['other']))
    for (let turns = 0; other.done.length === 1 && turns < 100; turns += 1) await turn()
    await loops.stop()
    expect(other.done).toEqual(['once', 'twice'])
  })
})
