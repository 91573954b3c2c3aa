import { expect, it, vi } from 'vitest'
import { MachineUnreachable } from '../../../src/providers/provider.ts'
import type { ReconcilerDeps } from '../../../src/reconciler/deps.ts'
import type { reconcile } from '../../../src/reconciler/reconcile.ts'
import { isUnreachable, observeContainer } from '../../../src/reconciler/steps.ts'

const leasedUntil = new Date('2026-11-21T12:00:30.000Z')
const before = (ms: number) => new Date(leasedUntil.getTime() - ms)

function depsAt(latest: Date) {
  const observe = vi.fn(async () => ({ state: 'absent' as const }))
  const clock = { now: () => before(20_000), latest: () => latest }
  return { observe, deps: { provider: { observe }, clock } as unknown as ReconcilerDeps }
}

const lease = { instanceId: 1n, leasedUntil } as Parameters<typeof reconcile>[1]

it('does not call a machine once the lease has run out by the latest possible time of the database', async () => {
  const { observe, deps } = depsAt(leasedUntil)
  await expect(observeContainer(deps, lease)).rejects.toThrow('The lease of instance 1 ran out')
  expect(observe).not.toHaveBeenCalled()
})

it('calls a machine while the lease has time left', async () => {
  const { deps } = depsAt(before(1))
  expect(await observeContainer(deps, lease)).toEqual({ state: 'absent' })
})

it.each<[string, unknown, boolean]>([
  ['that the machine does not answer', new MachineUnreachable('No answer.'), true],
  ['that its time is over', new DOMException('Over.', 'TimeoutError'), true],
  ['that it was aborted', new DOMException('Aborted.', 'AbortError'), false],
  ['anything else', new Error('Refused.'), false],
])('takes a machine for unreachable or not when a call says %s', (_, error, expected) => {
  expect(isUnreachable(error)).toBe(expected)
})
