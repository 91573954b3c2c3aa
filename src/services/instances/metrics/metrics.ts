// What instances use, for the faces.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Actor } from '../../../domain/actor.ts'
import { notFound } from '../../../domain/errors.ts'
import { checkMetricsRange, type InstanceMetrics, type MetricsRange } from '../../../domain/instances/metrics.ts'
import { authorizeEach } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import type { MeasuredInstance } from './measured.ts'
import { readNewest, readSampled } from './sampled.ts'
import { simulateNewest, simulatePast } from './simulated.ts'

export type MetricsQuery = { instance: MeasuredInstance; range: MetricsRange }

export function metricsServices(deps: Deps) {
  const { database, simulation } = deps

  return {
    /**
     * What instances used, in periods from the oldest to the newest, which may not be over. The instances must have been found
     * for the same actor. Queries with equal ranges share a statement.
     */
    async metrics(actor: Actor, queries: readonly MetricsQuery[]): Promise<Map<MetricsQuery, InstanceMetrics[]>> {
      authorizeInstances(
        actor,
        queries.map(({ instance }) => instance),
      )
      for (const { range } of queries) checkMetricsRange(range)
      const at = database.clock.now()
      const real = await simulation.realMachines()
      const found = new Map<MetricsQuery, InstanceMetrics[]>()
      const sampled = queries.filter(({ instance }) => real.has(instance.machineId))
      const byRange = Map.groupBy(sampled, ({ range }) => `${range.lastSeconds} ${range.resolutionSeconds}`)
      for (const [first, ...others] of byRange.values()) {
        if (!first) continue
        const alike = [first, ...others]
        const ids = [...new Set(alike.map(({ instance }) => instance.id))]
        const rows = await readSampled(deps, ids, first.range, at)
        for (const query of alike) found.set(query, rows.get(query.instance.id) ?? [])
      }
      for (const query of queries.filter(one => !found.has(one))) {
        found.set(query, await simulatePast(simulation, query.instance, query.range, at))
        // A week takes some 20 ms of this process.
        await nextTurn()
      }
      return found
    },

    /** What each running instance uses now. Instances that do not run, or were not measured, are left out. */
    async currentMetrics(actor: Actor, instances: readonly MeasuredInstance[]): Promise<Map<bigint, InstanceMetrics>> {
      authorizeInstances(actor, instances)
      return await readCurrent(instances)
    },
  }

  async function readCurrent(instances: readonly MeasuredInstance[]): Promise<Map<bigint, InstanceMetrics>> {
    const running = instances.filter(({ status, destroyedAt }) => status === 'running' && !destroyedAt)
    if (running.length === 0) return new Map()
    const real = await simulation.realMachines()
    const isReal = ({ machineId }: MeasuredInstance) => real.has(machineId)
    const at = database.clock.now()
    const found = await readCurrentSamples(running.filter(isReal))
    for (const instance of running)
      if (!isReal(instance)) found.set(instance.id, simulateNewest(simulation, instance, at))
    return found
  }

  async function readCurrentSamples(running: readonly MeasuredInstance[]): Promise<Map<bigint, InstanceMetrics>> {
    if (running.length === 0) return new Map()
    const ids = running.map(({ id }) => id)
    const found = await readNewest(deps, ids)
    // What was measured before a restart is of another run.
    for (const { id, statusChangedAt } of running)
      if ((found.get(id)?.endsAt ?? statusChangedAt) < statusChangedAt) found.delete(id)
    return found
  }
}

function authorizeInstances(actor: Actor, instances: readonly MeasuredInstance[]): void {
  const ids = instances.map(({ id }) => id)
  authorizeEach(actor, 'instances.metrics', ids)
  const foreign = instances.find(({ accountId }) => accountId !== actor.accountId)
  if (foreign) throw notFound('Instance', foreign.id)
}
