// What a gateway keeps for the streams of a host that says nothing of their end.

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLink } from '../../../src/providers/agent/link.ts'
import { connectToPort, openProcess } from '../../../src/providers/agent/processes.ts'

const { signal } = new AbortController()

/** A host that answers each call in the same way, and says nothing else. */
function aLink(answer: object = { type: 'result', value: null }) {
  const link = createLink({
    wire: {
      send(data) {
        const { type, id } = JSON.parse(String(data))
        if (type === 'call') link.receive(JSON.stringify({ ...answer, id }))
      },
      close() {},
    },
    ...{ machineId: 1, generation: 1, protocol: 1, isHeld: () => true },
  })
  return link
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }))
afterEach(() => void vi.useRealTimers())

it('keeps nothing of a connection that is closed here', async () => {
  const link = aLink()
  const connection = await connectToPort(link, { instanceId: 7n }, 80, signal)
  expect(link.isBusy()).toBe(true)
  connection.destroy()
  await expect.poll(() => link.isBusy()).toBe(false)
})

it('keeps a process that was hung up for half a minute', async () => {
  const link = aLink()
  const { exitCode, stdout, hangUp } = await openProcess(
    link,
    { instanceId: 7n },
    { command: null, terminal: null },
    signal,
  )
  hangUp()
  vi.advanceTimersByTime(29_000)
  expect(link.isBusy()).toBe(true)
  vi.advanceTimersByTime(1_000)
  expect(link.isBusy()).toBe(false)
  await expect(exitCode).rejects.toThrow('did not end')
  expect(stdout.destroyed).toBe(true)
})

it('keeps the connection of a newer host whose failure it does not know', async () => {
  const link = aLink({ type: 'failure', kind: 'ofANewerVersion', message: 'Why.' })
  await expect(link.call('start', { instanceId: 7n }, signal)).rejects.toStrictEqual(new Error('Why.'))
  await expect(link.call('start', { instanceId: 7n }, signal)).rejects.toStrictEqual(new Error('Why.'))
})
