import { expect, it, vi } from 'vitest'
import type { ReconcilerDeps } from '../../../src/reconciler/deps.ts'
import { takeOtherPorts } from '../../../src/reconciler/other-ports.ts'

const leasedUntil = new Date('2026-11-21T12:00:30.000Z')
const at = new Date('2026-11-21T12:00:00.000Z')

async function doneWith(facts: { hasRun: boolean; hasOthers: boolean; left: string }) {
  const done: string[] = []
  const deps = {
    clock: { now: () => at, latest: () => at },
    provider: {
      remove: async () => void done.push('removed'),
      observe: vi.fn(async () => ({ state: facts.left })),
    },
    reconciliation: {
      hasOtherPorts: async () => facts.hasOthers,
      changePorts: async () => void done.push('changed'),
    },
  } as unknown as ReconcilerDeps
  const lease = { instanceId: 1n, leasedUntil, hasRun: facts.hasRun, restart: null }
  await takeOtherPorts(deps, lease as Parameters<typeof takeOtherPorts>[1])
  return done
}

it.each([
  ['that never ran gets other ports, without its container', false, true, 'absent', ['removed', 'changed']],
  ['keeps its ports while the machine has no others', false, false, 'absent', []],
  ['keeps its ports while its container is still there', false, true, 'exited', ['removed']],
  ['that has run keeps its container and its ports', true, true, 'absent', []],
])('an instance %s', async (_, hasRun, hasOthers, left, expected) => {
  expect(await doneWith({ hasRun, hasOthers, left })).toEqual(expected)
})
