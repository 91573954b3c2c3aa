import {
  type LedgerEntry as EntryShape,
  type LedgerFilter as Filter,
  type LedgerKind as Kind,
  maxInstancesPerLedger,
} from '../../domain/billing/ledger.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { parseId, printId } from '../ids.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'

const LedgerKind = enumOf<Kind>('LedgerKind', 'What an entry of the ledger is for.', {
  compute: 'GPUs of an instance that ran.',
  disk: 'The disk of an instance, or a volume.',
  top_up: 'Credit that was granted.',
  refund: 'What was charged for an instance beyond the instant at which its machine was seen last.',
  adjustment: 'Something that the operator put right. Its `reason` says what.',
})

export const LedgerEntry = builder.objectRef<EntryShape>('LedgerEntry').implement({
  description:
    'A line of the ledger. It is never changed: what was wrong is put right by another. A charge is the rate times the period; what makes no whole nano-dollar is carried on to the next charge for the same thing.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `led_`.', resolve: ({ id }) => printId('LedgerEntry', id) }),
    kind: t.expose('kind', { type: LedgerKind, description: 'What it is for.' }),
    amount: t.expose('amountNanos', { type: 'Usd', description: 'What it adds. Below zero is what was charged.' }),
    balanceAfter: t.expose('balanceAfterNanos', {
      type: 'Usd',
      description: 'The sum of the ledger with this entry. What went on running then is not in it yet.',
    }),
    periodStart: t.expose('periodStart', {
      type: 'DateTime',
      nullable: true,
      description: 'Begin of the period that is charged or refunded, if it is for one.',
    }),
    periodEnd: t.expose('periodEnd', { type: 'DateTime', nullable: true, description: 'End of that period.' }),
    ratePerHour: t.expose('rateNanos', {
      type: 'Usd',
      nullable: true,
      description: 'What it cost per hour in that period. Null unless it is a charge.',
    }),
    carried: t.exposeInt('carried', {
      nullable: true,
      description:
        'What the charge before left over, in parts of a nano-dollar of which there are 3,600,000. The amount is nano-dollars per hour, times the milliseconds of the period, plus this, divided by 3,600,000 and rounded down. Null unless it is a charge.',
    }),
    instanceId: t.id({
      nullable: true,
      description: 'The instance that it is for, if it is for one.',
      resolve: ({ instanceId }) => (instanceId === null ? null : printId('Instance', instanceId)),
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: `That instance, as it is now. ${permissionSentence('instances.get')}`,
      resolve: ({ instanceId }, _args, context) =>
        instanceId === null ? null : instanceById(context).load(instanceId),
    }),
    volumeId: t.id({
      nullable: true,
      description: 'The volume that it is for, if it is for one.',
      resolve: ({ volumeId }) => (volumeId === null ? null : printId('Volume', volumeId)),
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'The key that rented the instance or made the volume, for which it counts.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : printId('ApiKey', apiKeyId)),
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'What it was posted for, in words.' }),
    postedAt: t.expose('postedAt', { type: 'DateTime', description: 'When it was posted.' }),
  }),
})

export const LedgerFilter = builder.inputType('LedgerFilter', {
  description: 'Which entries are wanted: those for which every part holds that is given.',
  fields: t => ({
    kinds: t.field({ type: [LedgerKind], description: 'Those of one of these kinds.' }),
    instanceIds: t.idList({ description: `Those for one of these instances, at most ${maxInstancesPerLedger}.` }),
    from: t.field({ type: 'DateTime', description: 'Those posted then or later.' }),
    to: t.field({ type: 'DateTime', description: 'Those posted before.' }),
  }),
})

export function parseLedgerFilter(filter: typeof LedgerFilter.$inferInput | null | undefined): Filter {
  const { kinds, instanceIds, from, to } = filter ?? {}
  return {
    kinds: kinds ?? undefined,
    instanceIds: instanceIds?.map((id, index) => parseId('Instance', String(id), `filter.instanceIds.${index}`)),
    from: from ?? undefined,
    to: to ?? undefined,
  }
}

export const ledgerEntryById = createLoader(({ services, actor }, ids: readonly bigint[]) =>
  services.billing.entriesByIds(actor, ids),
)
