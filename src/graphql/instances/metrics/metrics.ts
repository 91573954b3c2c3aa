import { maxLastSeconds, maxPoints, minResolutionSeconds, pointCount } from '../../../domain/instances/metrics.ts'
import { type MeasuredInstance, measuredSelect } from '../../../services/instances/metrics/measured.ts'
import type { MetricsQuery } from '../../../services/instances/metrics/metrics.ts'
import { builder } from '../../builder.ts'
import { parseId } from '../../ids.ts'
import { createLoader, createRequiredLoader } from '../../loader.ts'
import { Instance } from '../instances.ts'
import { InstanceMetrics } from './types.ts'

/** Metrics of several instances are read together. The loader's key is the query itself, so each gets its own points. */
const metricsByQuery = createRequiredLoader(async ({ services, actor }, queries: readonly MetricsQuery[]) =>
  [...(await services.instances.metrics(actor, queries))].map(([id, points]) => ({ id, points })),
)

const currentByInstance = createLoader(async ({ services, actor }, instances: readonly MeasuredInstance[]) => {
  const found = await services.instances.currentMetrics(actor, instances)
  return instances.flatMap(instance => {
    const metrics = found.get(instance.id)
    return metrics ? [{ id: instance, metrics }] : []
  })
})

/** Reading this many minutes costs as much as a field, besides the periods that are answered. So few weeks fit in an operation. */
const minutesPerField = 5

builder.prismaObjectField(Instance, 'metrics', t =>
  t.field({
    type: [InstanceMetrics],
    nullable: true,
    description: `What the instance used, in periods of \`resolutionSeconds\`, oldest first. Measured every 15 seconds on its machine and kept for an hour, as means of minutes for 7 days. Periods in which it did not run, or was not measured, are left out, and the last period may not be over. Still there after the instance is destroyed, unless its machine is simulated. At most ${maxPoints} periods.`,
    requires: 'instances.metrics',
    args: {
      lastSeconds: t.arg.int({
        required: true,
        defaultValue: 3_600,
        description: `How far to look back, in seconds, ${minResolutionSeconds} to ${maxLastSeconds} (7 days). Defaults to 3600, an hour.`,
      }),
      resolutionSeconds: t.arg.int({
        required: true,
        defaultValue: 60,
        description:
          'Length of each period, in seconds: whole minutes or, for up to an hour, also 15, 30 or 45. Defaults to 60.',
      }),
    },
    complexity: range => ({
      field: 1 + Math.ceil(Math.min(Math.max(range.lastSeconds, 0), maxLastSeconds) / 60 / minutesPerField),
      multiplier: Math.min(Math.max(Math.ceil(pointCount(range)) || 1, 1), maxPoints),
    }),
    select: measuredSelect,
    resolve: async (instance, range, context) => (await metricsByQuery(context).load({ instance, range })).points,
  }),
)

builder.prismaObjectField(Instance, 'currentMetrics', t =>
  t.field({
    type: InstanceMetrics,
    nullable: true,
    description:
      'What the instance uses now, as last measured. Null unless it is running and was measured in the last minute. The subscription `instanceMetrics` continues from here.',
    requires: 'instances.metrics',
    select: measuredSelect,
    resolve: async (instance, _args, context) => (await currentByInstance(context).load(instance))?.metrics,
  }),
)

builder.subscriptionField('instanceMetrics', t =>
  t.field({
    type: InstanceMetrics,
    description:
      'Streams what an instance uses while it runs: at once, then about every 15 seconds, until it is destroyed.',
    requires: 'instances.metrics',
    args: { id: t.arg.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }) },
    subscribe: (_root, { id }, { services, actor }) => services.instances.watchMetrics(actor, parseId('Instance', id)),
    resolve: metrics => metrics,
  }),
)
