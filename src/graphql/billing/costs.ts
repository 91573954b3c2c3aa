import { builder } from '../builder.ts'
import { Instance } from '../instances/instances.ts'
import { createLoader } from '../loader.ts'

const costsByInstanceId = createLoader(({ services, actor }, ids: readonly bigint[]) =>
  services.billing.costs(actor, ids),
)

builder.objectFields(Instance, t => ({
  accruedCost: t.field({
    type: 'Usd',
    description:
      'What it has cost until now, GPUs and disk: what the ledger says, less what was refunded, and what is not charged yet. Volumes cost for themselves.',
    resolve: async ({ id }, _args, context) => (await costsByInstanceId(context).load(id))?.accruedNanos ?? 0n,
  }),
  burnRate: t.field({
    type: 'Usd',
    description:
      'What it costs per hour now: GPUs while it runs as wished, and its disk until it is destroyed, or lost with its machine.',
    resolve: async ({ id }, _args, context) => (await costsByInstanceId(context).load(id))?.costPerHourNanos ?? 0n,
  }),
  burnRateWhenStopped: t.field({
    type: 'Usd',
    description: 'What it would go on costing per hour if it were stopped now: its disk. Only destroying it ends that.',
    resolve: async ({ id }, _args, context) =>
      (await costsByInstanceId(context).load(id))?.costPerHourWhenStoppedNanos ?? 0n,
  }),
}))
