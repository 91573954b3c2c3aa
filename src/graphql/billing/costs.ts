import { builder } from '../builder.ts'
import { Instance } from '../instances/instances.ts'
import { createRequiredLoader } from '../loader.ts'

/** Every instance has meters from its rental on, and the database refuses to delete them. */
const costsByInstanceId = createRequiredLoader(({ services, actor }, ids: readonly bigint[]) =>
  services.billing.costs(actor, ids),
)

builder.objectFields(Instance, t => ({
  accruedCost: t.field({
    type: 'Usd',
    description:
      'Cost of the instance so far, GPUs and disk, in US dollars: charges minus refunds, plus costs not charged yet. Volumes are not included.',
    resolve: async ({ id }, _args, context) => (await costsByInstanceId(context).load(id)).accruedNanos,
  }),
  costPerHour: t.field({
    type: 'Usd',
    description:
      'Current cost of the instance, in US dollars per hour: GPUs while it runs, plus its disk until it is destroyed or lost with its machine.',
    resolve: async ({ id }, _args, context) => (await costsByInstanceId(context).load(id)).costPerHourNanos,
  }),
  costPerHourWhenStopped: t.field({
    type: 'Usd',
    description:
      'Cost of the disk, in US dollars per hour, if the instance were stopped now. It ends when the instance is destroyed.',
    resolve: async ({ id }, _args, context) => (await costsByInstanceId(context).load(id)).costPerHourWhenStoppedNanos,
  }),
}))
