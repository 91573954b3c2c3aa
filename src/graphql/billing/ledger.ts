import {
  type LedgerFilter as Filter,
  type LedgerKind as Kind,
  type LedgerSubject,
  maxLedgerSubjects,
} from '../../domain/billing/ledger.ts'
import { invalidInput } from '../../domain/errors.ts'
import { idPrefixes } from '../../domain/ids.ts'
import { quoteValue } from '../../domain/values.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { DateTimeFilter, parseDateTimeFilter } from '../filters.ts'
import { parseId, printId } from '../ids.ts'
import { createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'

const LedgerKind = enumOf<Kind>(
  'LedgerKind',
  'Kind of a ledger entry: what it charges, adds or corrects. New values may be added.',
  {
    gpu: 'Charge for the GPUs of a running instance.',
    disk: 'Charge for the disk of an instance, or for a volume.',
    top_up: 'Credit that was added.',
    refund: 'Refund of charges for the time after the machine of an instance was last seen.',
    adjustment: 'Correction by the operator. The `note` of the entry explains it.',
  },
)

export const LedgerEntry = builder.prismaObject('LedgerEntry', {
  select: { id: true },
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
    startsAt: t.expose('periodStart', {
      type: 'DateTime',
      nullable: true,
      description: 'Start of the charged or refunded period (inclusive). Null if the entry is not for a period.',
    }),
    endsAt: t.expose('periodEnd', {
      type: 'DateTime',
      nullable: true,
      description: 'End of the charged or refunded period (exclusive). Null if the entry is not for a period.',
    }),
    costPerHour: t.expose('rateNanos', {
      type: 'Usd',
      nullable: true,
      description:
        'What the item cost per hour in the charged period, in US dollars: the rate of the charge. Null unless the entry is a charge.',
    }),
    carried: t.exposeInt('carried', {
      nullable: true,
      description:
        'Remainder of the previous charge, in 1/3,600,000 of a nano-dollar. Charge = floor((`costPerHour` in nano-dollars × milliseconds of the period + `carried`) / 3,600,000). Null unless the entry is a charge.',
    }),
    note: t.exposeString('note', {
      nullable: true,
      description: 'Explanation of the entry for people, such as why charges were refunded. Null if there is none.',
    }),
    postedAt: t.expose('postedAt', { type: 'DateTime', description: 'When the entry was posted.' }),
  }),
})

export const LedgerFilter = builder.inputType('LedgerFilter', {
  description: 'Conditions on a ledger entry. All given conditions must hold; absent or null sets no condition.',
  fields: t => ({
    kinds: t.field({ type: [LedgerKind], description: 'Only entries of these kinds.' }),
    subjectIds: t.idList({
      description: `Only entries for these instances and volumes, or for the account itself, such as \`ins_42\`, \`vol_42\` and \`acc_42\`; at most ${maxLedgerSubjects} IDs.`,
    }),
    postedAt: t.field({ type: DateTimeFilter, description: 'Only entries that were posted at a matching time.' }),
  }),
})

export function parseLedgerFilter(filter: typeof LedgerFilter.$inferInput | null | undefined): Filter {
  const { kinds, subjectIds, postedAt } = filter ?? {}
  return {
    kinds: kinds ?? undefined,
    subjects: subjectIds?.map((id, index) => parseSubjectId(String(id), `filter.subjectIds.${index}`)),
    postedAt: parseDateTimeFilter(postedAt),
  }
}

const subjectTypes = ['Instance', 'Volume', 'Account'] as const

function parseSubjectId(id: string, path: string): LedgerSubject {
  const type = subjectTypes.find(name => id.startsWith(`${idPrefixes[name]}_`))
  if (type) return { type, id: parseId(type, id, path) }
  const examples = subjectTypes.map(name => printId(name, 42)).join(', ')
  const message = `${quoteValue(id)} is not the ID of an instance, a volume or an account; send one like ${examples}.`
  throw invalidInput([{ path, message }])
}

export const ledgerEntryById = createSelectedLoader(({ services, actor }, ids: readonly bigint[], select) =>
  services.billing.entriesByIds(actor, ids, select),
)
