import type { ChargeKind as Charged } from '../../domain/billing/balance.ts'
import {
  type UsageBucket as BucketShape,
  type UsageBucketSize as BucketSize,
  countBuckets,
  type UsageDimension as Dimension,
  type UsageGroup as GroupShape,
  maxBuckets,
  maxGroups,
  type Usage as UsageShape,
} from '../../domain/billing/usage.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'

const ChargeKind = enumOf<Charged>('ChargeKind', 'What costs something while time passes.', {
  compute: 'GPUs of instances that run.',
  disk: 'Disks of instances, and volumes.',
})

const UsageBucketSize = enumOf<BucketSize>(
  'UsageBucketSize',
  'How long the parts are that a period is cut into, in UTC.',
  {
    hour: 'Hours.',
    day: 'Days.',
    month: 'Months of the calendar.',
  },
)

const UsageDimension = enumOf<Dimension>('UsageDimension', 'What costs are told apart by.', {
  kind: 'GPUs and disks.',
  instance: 'Each instance, and each volume.',
  apiKey: 'The key that rented or made what costs.',
})

const UsageGroup = builder.objectRef<GroupShape>('UsageGroup').implement({
  description: 'What one group cost in a part of a period. What it is not told apart by is null.',
  fields: t => ({
    kind: t.expose('kind', { type: ChargeKind, nullable: true, description: 'GPUs or disks.' }),
    instanceId: t.id({
      nullable: true,
      description: 'The instance. Null for a volume.',
      resolve: ({ instanceId }) => (instanceId === null ? null : printId('Instance', instanceId)),
    }),
    volumeId: t.id({
      nullable: true,
      description: 'The volume. Null for an instance.',
      resolve: ({ volumeId }) => (volumeId === null ? null : printId('Volume', volumeId)),
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'The key that rented or made it. Null also for volumes that are older than the ledger.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : printId('ApiKey', apiKeyId)),
    }),
    cost: t.expose('costNanos', { type: 'Usd', description: 'What it cost.' }),
  }),
})

const UsageBucket = builder.objectRef<BucketShape>('UsageBucket').implement({
  description: 'A part of a period, and what was spent in it.',
  fields: t => ({
    start: t.expose('start', { type: 'DateTime', description: 'Its begin.' }),
    end: t.expose('end', { type: 'DateTime', description: 'Its end, where the next begins.' }),
    cost: t.expose('costNanos', { type: 'Usd', description: 'What everything cost in it.' }),
    groups: t.expose('groups', {
      type: [UsageGroup],
      description: `What each group cost, without those that cost nothing. All parts together have at most ${maxGroups}.`,
      // Most have few, and there is a limit to all together.
      complexity: { multiplier: 1 },
    }),
  }),
})

const Usage = builder.objectRef<UsageShape>('Usage').implement({
  description: 'What was spent in a period: what is charged, without what was refunded, and what runs since.',
  fields: t => ({
    from: t.expose('from', { type: 'DateTime', description: 'Begin of the period.' }),
    to: t.expose('to', { type: 'DateTime', description: 'Its end.' }),
    cost: t.expose('costNanos', { type: 'Usd', description: 'What everything cost: exactly the sum of all parts.' }),
    buckets: t.expose('buckets', {
      type: [UsageBucket],
      description: 'The hours, days or months of the period, the oldest first. The first and the last may be cut.',
      // It is counted in the period, which says how many there are.
      complexity: { multiplier: 1 },
    }),
  }),
})

// Nobody is given another account than his own.
builder.prismaObjectField('Account', 'usage', t =>
  t.field({
    type: Usage,
    description: `What was spent when, and on what. ${permissionSentence('billing.usage')}`,
    args: {
      from: t.arg({
        type: 'DateTime',
        description: 'Begin of the period. The begin of this month in UTC, when absent.',
      }),
      to: t.arg({
        type: 'DateTime',
        description:
          'Its end. The end of this month, when absent. What is spent until now is told of a period that goes on.',
      }),
      bucket: t.arg({
        type: UsageBucketSize,
        required: true,
        defaultValue: 'day',
        description: `Into what it is cut: at most ${maxBuckets} parts.`,
      }),
      groupBy: t.arg({
        type: [UsageDimension],
        required: true,
        defaultValue: ['kind'],
        description: 'What the costs of each part are told apart by.',
      }),
    },
    complexity: args => ({ field: 1, multiplier: Math.min(Math.max(maxBucketCount(args), 1), maxBuckets) }),
    resolve: (_account, wish, { services, actor }) => services.billing.usage(actor, wish),
  }),
)

type UsageArgs = { from?: Date | null | undefined; to?: Date | null | undefined; bucket: 'hour' | 'day' | 'month' }

/** How many there can be, whichever month it is. */
function maxBucketCount({ from, to, bucket }: UsageArgs): number {
  if (from && to) return countBuckets({ from, to, bucket })
  return from || to ? maxBuckets : { hour: maxBuckets, day: 31, month: 1 }[bucket]
}
