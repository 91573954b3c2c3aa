// What simulated instances used in the past is computed when it is asked for.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { checkMetricsRange, periodStart } from '../../../src/domain/instances/metrics.ts'
import { simulateStats } from '../../../src/providers/simulated/stats.ts'
import type { Deps } from '../../../src/services/deps.ts'
import type { MeasuredInstance } from '../../../src/services/instances/metrics/measured.ts'
import { metricsServices } from '../../../src/services/instances/metrics/metrics.ts'

const begin = new Date('2026-11-01T00:00:00.000Z')
const actor: Actor = { accountId: 1, apiKeyId: 1, publicId: 'one', permissions: null }
const instance: MeasuredInstance = {
  ...{ id: 5n, accountId: 1, machineId: 1, numGpus: 1, diskMb: 8_000, status: 'running', statusChangedAt: begin },
  ...{ destroyedAt: null, launch: { image: 'ubuntu' }, machine: { cpuCores: 8, cpuRamMb: 32_000, numGpus: 1 } },
}
const deps = {
  database: { clock: { now: () => new Date('2026-11-20T00:00:00.000Z') } },
  simulation: {
    realMachines: async () => new Map(),
    runsOf: async () => [{ begin, end: null }],
    statsAt: simulateStats,
  },
} as unknown as Deps

it('computes one after the other, so that other requests have turns in between', async () => {
  let turns = 0
  let isDone = false
  const counting = (async () => {
    for (; !isDone; turns += 1) await nextTurn()
  })()
  const queries = Array.from({ length: 10 }, () => ({
    instance,
    range: { lastSeconds: 604_800, resolutionSeconds: 3_600 },
  }))
  const found = await metricsServices(deps).metrics(actor, queries)
  isDone = true
  await counting
  expect(found.get(queries[9] as (typeof queries)[number])).toHaveLength(169)
  expect(turns).toBeGreaterThanOrEqual(9)
})

it.each([
  [0, 0],
  [14_999, 0],
  [15_000, 15_000],
  [29_999, 15_000],
])('a sample at %i ms is in the period of 15 seconds that begins at %i ms', (ms, start) => {
  expect(periodStart(ms, 15_000)).toBe(start)
})

it.each([
  [15, 15],
  [3_600, 15],
  [3_600, 45],
  [3_615, 60],
  [604_800, 420],
])('%i seconds can be shown in periods of %i seconds', (lastSeconds, resolutionSeconds) => {
  expect(() => checkMetricsRange({ lastSeconds, resolutionSeconds })).not.toThrow()
})

it.each([
  [14, 15, 'lastSeconds'],
  [604_801, 420, 'lastSeconds'],
  [3_600, 0, 'resolutionSeconds'],
  [604_800, 604_815, 'resolutionSeconds'],
  [3_601, 45, 'resolutionSeconds'],
  [3_601, 75, 'resolutionSeconds'],
  [604_800, 360, 'resolutionSeconds'],
])('%i seconds cannot be shown in periods of %i seconds', (lastSeconds, resolutionSeconds, path) => {
  expect(() => checkMetricsRange({ lastSeconds, resolutionSeconds })).toThrow(path)
})
