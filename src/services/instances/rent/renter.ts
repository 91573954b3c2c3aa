// What a rental reads of who rents.

import { Prisma } from '../../../database/generated/client.ts'
import { int4 } from '../../../database/row-types.ts'
import { type RowsOf, readOf } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { RentInput } from '../../../domain/instances/rent/decide.ts'
import { secretVariablesRead } from '../../accounts/secret-variables.ts'
import { balanceRead } from '../../billing/balance.ts'
import { templateReads } from '../../templates/rent.ts'

const { sql } = Prisma

/** Who rents, and what. */
export type Renting = { actor: Actor; input: RentInput }

/** Of several renters, in one statement. */
export function renterReads(tx: Transaction, rentings: readonly Renting[]) {
  const accountIds = accountIdsOf(rentings)
  const sshKeyCounts = sql`
    SELECT account_id, count(*)::int AS count FROM ssh_keys WHERE account_id = ANY(${accountIds}::int[]) AND deleted_at IS NULL
    GROUP BY account_id`
  return {
    balances: balanceRead(accountIds, sql`${tx.at}::timestamptz`),
    sshKeys: readOf(sshKeyCounts, { accountId: int4, count: int4 }),
    secretVariables: secretVariablesRead(accountIds),
    ...templateReads(rentings.map(({ actor, input }) => ({ accountId: actor.accountId, reference: input.template }))),
  }
}

type Renters = RowsOf<ReturnType<typeof renterReads>>
export type Renter = ReturnType<typeof renterOf>

/** What was read of one of the renters. */
export function renterOf(
  { balances, sshKeys, secretVariables, templates = [] }: Renters,
  { actor }: Renting,
  place: number,
) {
  const isOwn = ({ accountId }: { accountId: number }) => accountId === actor.accountId
  return {
    balance: balances.find(isOwn),
    sshKeyCount: sshKeys.find(isOwn)?.count ?? 0,
    secretVariables: secretVariables.filter(isOwn),
    templates: templates.filter(template => template.place === place),
  }
}

/** Each account once. */
export function accountIdsOf(rentings: readonly Renting[]): number[] {
  return [...new Set(rentings.map(({ actor }) => actor.accountId))]
}
