import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { createFollower } from '../../../src/events/follower.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const actor: Actor = { accountId: 1, apiKeyId: 1, publicId: 'one', permissions: null }
const nothing = { events: [], machineIds: [], rebidIds: [], reached: { xid: 9n, id: 0n } }

async function openFollower() {
  const options = { openedMs: 0, waitForTurn: async () => {}, onClose: () => {} }
  const follower = createFollower(actor, { includesMarket: true }, options)
  follower.admit({ epoch: 1, xid: 1n, id: 0n })
  const { next, close } = await follower.subscription
  let isDone = false
  const read = (timeoutMs?: number) =>
    next(timeoutMs).finally(() => {
      isDone = true
    })
  return { follower, close, read, isDone: () => isDone }
}

const hourMs = 3_600_000

describe('a reader', () => {
  it('waits for an update without a limit, if it names none', async () => {
    const { follower, read, isDone } = await openFollower()
    const reading = read()
    await vi.advanceTimersByTimeAsync(hourMs)
    follower.deliver(nothing)
    await vi.advanceTimersByTimeAsync(hourMs)
    expect(isDone()).toBe(false)
    follower.deliver({ ...nothing, machineIds: [7] })
    expect(await reading).toMatchObject({ events: [], machineIds: [7] })
  })

  it('waits no longer than its limit', async () => {
    const { read, isDone } = await openFollower()
    const reading = read(1_000)
    await vi.advanceTimersByTimeAsync(999)
    expect(isDone()).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await reading).toMatchObject({ events: [], machineIds: [] })
  })

  it('is told that the stream has ended while it waits', async () => {
    const { close, read } = await openFollower()
    const reading = read()
    close()
    expect(await reading).toBeUndefined()
  })
})
