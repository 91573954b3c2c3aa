import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { limitConcurrency } from '../../src/services/turns.ts'

describe('limitConcurrency', () => {
  it('runs at most `limit` calls at once, even after a failure', async () => {
    const run = limitConcurrency(2)
    const ends: PromiseWithResolvers<void>[] = []
    const all = [0, 1, 2, 3, 4].map(index =>
      run(1, () => {
        ends[index] = Promise.withResolvers()
        return ends[index].promise
      }).catch(() => 'failed'),
    )
    await expect.poll(() => Object.keys(ends)).toEqual(['0', '1'])
    ends[1]?.reject(new Error('gone'))
    await expect.poll(() => Object.keys(ends)).toEqual(['0', '1', '2'])
    ends[0]?.resolve()
    await expect.poll(() => Object.keys(ends)).toEqual(['0', '1', '2', '3'])
    for (const end of ends) end.resolve()
    await expect.poll(() => Object.keys(ends)).toHaveLength(5)
    ends[4]?.resolve()
    expect(await Promise.all(all)).toEqual([undefined, 'failed', undefined, undefined, undefined])
  })

  it('lets accounts take turns, and keeps the order of one account', async () => {
    const run = limitConcurrency(1)
    const served: string[] = []
    const call = (accountId: number, name: string) =>
      run(accountId, async () => {
        await sleep(0)
        served.push(name)
      })
    await Promise.all([call(1, 'a'), call(1, 'b'), call(1, 'c'), call(2, 'x'), call(3, 'y'), call(2, 'z')])
    expect(served).toEqual(['a', 'b', 'x', 'y', 'c', 'z'])
  })
})
