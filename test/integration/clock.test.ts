import { expect, it } from 'vitest'
import { hourMs, newAccount } from '../support/accounts.ts'
import { startApp } from '../support/app.ts'
import { manualClock } from '../support/clock.ts'

it('a gateway whose clock is not that of the database charges nothing, and is not ready', async () => {
  const clock = manualClock(new Date().toISOString())
  const app = await startApp({ now: clock.now, checkClock: true })
  const ready = async () => {
    const answer = await app.fetch(new Request('http://berth.test/ready'))
    return [answer.status, (await answer.json()).status]
  }
  const told = () => app.log.filter(({ msg }) => String(msg).startsWith('The clock is not'))
  try {
    expect(await ready()).toEqual([200, 'ready'])
    const account = await newAccount({ ...app, clock }, 1_000_000_000n)
    const due = async () => (await account.row())['billing_due_at']
    await app.idle()
    expect(await due()).toBeNull()

    clock.advance(30 * 24 * hourMs)
    await account.grant(1n)
    const dueAt = await due()
    expect(dueAt).toBeInstanceOf(Date)
    await app.idle()
    await app.idle()
    expect(await due()).toEqual(dueAt)
    expect(await ready()).toEqual([503, 'the clock is not that of the database'])
    expect(told()).toHaveLength(1)

    // As it would be begun with such a clock.
    const other = await startApp({ beside: app, now: clock.now, checkClock: true })
    expect((await other.fetch(new Request('http://berth.test/ready'))).status).toBe(503)
    await other.close()

    clock.advance(-30 * 24 * hourMs + 3_000)
    await account.grant(1n)
    await app.idle()
    expect(await due()).toBeNull()
    expect(await ready()).toEqual([200, 'ready'])
  } finally {
    await app.close()
  }
})
