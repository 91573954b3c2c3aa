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

const LedgerKind = enumOf<Kind>('LedgerKind', 'Kind of a ledger entry: what it charges, adds or corrects.', {
  gpu: 'Charge for the GPUs of a running instance.',
  disk: 'Charge for the disk of an instance, or for a volume.',
  top_up: 'Credit that was added.',
  refund: 'Refund of charges for the time after the machine of an instance was last seen.',
  adjustment: 'Correction by the operator. The `reason` of the entry explains it.',
})

export const LedgerEntry = builder.objectRef<EntryShape>('LedgerEntry').implement({
  description:
    'An entry of the ledger. Entries never change: a correction is a new entry. A charge is the rate times the period; a fraction of a nano-dollar is carried over to the next charge for the same item.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the ledger entry, such as `led_42`.',
      resolve: ({ id }) => printId('LedgerEntry', id),
    }),
    kind: t.expose('kind', { type: LedgerKind, description: 'Reason for the entry.' }),
    amount: t.expose('amountNanos', {
      type: 'Usd',
      description: 'Amount that the entry adds to the balance, in US dollars. Negative for a charge.',
    }),
    balanceAfter: t.expose('balanceAfterNanos', {
      type: 'Usd',
      description:
        'Sum of the ledger up to and including this entry, in US dollars. Costs not yet charged at that time are not included.',
    }),
    periodStart: t.expose('periodStart', {
      type: 'DateTime',
      nullable: true,
      description: 'Start of the charged or refunded period. Null if the entry is not for a period.',
    }),
    periodEnd: t.expose('periodEnd', {
      type: 'DateTime',
      nullable: true,
      description: 'End of the charged or refunded period. Null if the entry is not for a period.',
    }),
    costPerHour: t.expose('rateNanos', {
      type: 'Usd',
      nullable: true,
      description: 'Rate of the charge, in US dollars per hour. Null unless the entry is a charge.',
    }),
    carried: t.exposeInt('carried', {
      nullable: true,
      description:
        'Remainder of the previous charge, in 1/3,600,000 of a nano-dollar. Charge = floor((`costPerHour` in nano-dollars × milliseconds of the period + `carried`) / 3,600,000). Null unless the entry is a charge.',
    }),
    instanceId: t.id({
      nullable: true,
      description: 'ID of the instance that the entry is for. Null if the entry is not for an instance.',
      resolve: ({ instanceId }) => (instanceId === null ? null : printId('Instance', instanceId)),
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: `The instance that the entry is for, in its current state. ${permissionSentence('instances.get')}`,
      resolve: ({ instanceId }, _args, context) =>
        instanceId === null ? null : instanceById(context).load(instanceId),
    }),
    volumeId: t.id({
      nullable: true,
      description: 'ID of the volume that the entry is for. Null if the entry is not for a volume.',
      resolve: ({ volumeId }) => (volumeId === null ? null : printId('Volume', volumeId)),
    }),
    apiKeyId: t.id({
      nullable: true,
      description:
        'ID of the API key that rented the instance or created the volume; the entry counts toward its limits. Null if there is none.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : printId('ApiKey', apiKeyId)),
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Explanation of the entry for people. Null if there is none.',
    }),
    postedAt: t.expose('postedAt', { type: 'DateTime', description: 'When the entry was posted.' }),
  }),
})

export const LedgerFilter = builder.inputType('LedgerFilter', {
  description: 'Conditions on a ledger entry. All given conditions must hold.',
  fields: t => ({
    kinds: t.field({ type: [LedgerKind], description: 'Only entries of these kinds.' }),
    instanceIds: t.idList({ description: `Only entries for these instances, at most ${maxInstancesPerLedger} IDs.` }),
    from: t.field({ type: 'DateTime', description: 'Only entries posted at this time or later.' }),
    to: t.field({ type: 'DateTime', description: 'Only entries posted before this time.' }),
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
