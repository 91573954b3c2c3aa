// What entries of the ledger and spend limits are about. In a file of its own, since `loadNode` knows both types.

import { ledgerActorOf, ledgerSubjectOf } from '../../domain/billing/ledger.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { Actor } from '../events/actor.ts'
import { printId } from '../ids.ts'
import { Node } from '../nodes/node.ts'
import { loadNode } from '../nodes/nodes.ts'
import { LedgerEntry } from './ledger.ts'
import { SpendLimit } from './limits.ts'

// Callers read only entries and limits of their own account, so `accountId` of the actor is that of the parent.

const subjectColumns = { meter: { select: { instanceId: true, volumeId: true } } } as const

builder.prismaObjectFields(LedgerEntry, t => ({
  actor: t.field({
    type: Actor,
    description:
      'Who caused the entry. For charges and refunds, the API key that rented the instance or created the volume; the entry counts toward the spend limits of that key. For credit and corrections, the operator.',
    select: { kind: true, meter: { select: { apiKeyId: true } } },
    resolve: ledgerActorOf,
  }),
  subjectId: t.id({
    description:
      'ID of the instance or volume that the entry is for, such as `ins_42` or `vol_42`. ID of the account if the entry adds or corrects credit.',
    select: subjectColumns,
    resolve: (entry, _args, { actor }) => printSubject(ledgerSubjectOf(entry, actor.accountId)),
  }),
  subject: t.field({
    type: Node,
    nullable: true,
    description:
      'What the entry is for, in its current state: an instance, a volume or the account. Null if it is gone, or if this API key may not read it. Needs the permission to read the item.',
    select: subjectColumns,
    resolve: (entry, _args, context, info) => loadNode(ledgerSubjectOf(entry, context.actor.accountId), context, info),
  }),
}))

builder.prismaObjectFields(SpendLimit, t => ({
  subjectId: t.id({
    description: 'ID of the account or the API key whose spending the limit applies to, such as `acc_42` or `key_42`.',
    select: { apiKeyId: true },
    resolve: (limit, _args, context) => printSubject(subjectOfLimit(limit, context)),
  }),
  subject: t.field({
    type: Node,
    nullable: true,
    description:
      'The account or the API key whose spending the limit applies to. Null if the key has expired or was deleted, or if this API key may not read it. Needs the permission to read the item.',
    select: { apiKeyId: true },
    resolve: (limit, _args, context, info) => loadNode(subjectOfLimit(limit, context), context, info),
  }),
}))

function subjectOfLimit({ apiKeyId }: { apiKeyId: number | null }, { actor }: Pick<Context, 'actor'>) {
  if (apiKeyId === null) return { type: 'Account', id: BigInt(actor.accountId) } as const
  return { type: 'ApiKey', id: BigInt(apiKeyId) } as const
}

function printSubject({ type, id }: { type: Parameters<typeof printId>[0]; id: bigint }): string {
  return printId(type, id)
}
