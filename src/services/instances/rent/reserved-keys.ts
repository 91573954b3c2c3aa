// The idempotency keys of rentals that share a transaction.

import { Prisma } from '../../../database/generated/client.ts'
import { int4, text } from '../../../database/row-types.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { hashRequest, type IdempotencyDeps, type IdempotentRequest, type JsonResult } from '../../idempotency.ts'
import { sealJson } from '../../secrets.ts'

const { sql } = Prisma

type KeyedRequest = { actor: Actor; request: IdempotentRequest }

/**
 * Reserves the keys of requests, in one order for all transactions. Returns those that may run now: they have no key, or are the
 * first with it in 24 hours.
 */
export async function reserveKeys<Each extends KeyedRequest>(
  tx: Transaction,
  deps: IdempotencyDeps,
  requests: readonly Each[],
): Promise<Each[]> {
  const keyed = requests.filter(hasKey)
  if (keyed.length === 0) return [...requests]
  const of = <Value>(value: (one: Each) => Value) => keyed.map(value)
  // Of two requests with a key, the first must insert it, because it is the one that runs.
  const statement = sql`
    INSERT INTO idempotency_keys (account_id, key, api_key_id, input_hash, result, created_at)
    SELECT r.account_id, r.key, r.api_key_id, r.input_hash, '', ${tx.at}::timestamptz FROM unnest(
      ${of(({ actor }) => actor.accountId)}::int[], ${of(keyOf)}::text[], ${of(({ actor }) => actor.apiKeyId)}::int[],
      ${of(({ request }) => hashRequest(deps, request))}::bytea[]
    ) WITH ORDINALITY AS r(account_id, key, api_key_id, input_hash, place) ORDER BY r.account_id, r.key, r.place
    ON CONFLICT (account_id, key) DO NOTHING RETURNING account_id, key`
  const rows = await tx.query(statement, { accountId: int4, key: text })
  const reserved = new Set(rows.map(({ accountId, key }) => `${accountId} ${key}`))
  // `delete` is true once.
  return requests.filter(one => !hasKey(one) || reserved.delete(`${one.actor.accountId} ${keyOf(one)}`))
}

/** Stores the results of requests whose keys are reserved, and frees the keys of those without a result. */
export function storeResultsWrites(
  { secrets }: IdempotencyDeps,
  outcomes: readonly (KeyedRequest & { result?: JsonResult | undefined })[],
): Record<string, Prisma.Sql> {
  const keyed = outcomes.filter(hasKey)
  if (keyed.length === 0) return {}
  const of = <Value>(value: (one: (typeof keyed)[number]) => Value) => keyed.map(value)
  const reserved = sql`unnest(
    ${of(({ actor }) => actor.accountId)}::int[], ${of(keyOf)}::text[], ${of(({ result = null }) => sealJson(secrets, result))}::bytea[]
  ) AS r(account_id, key, result) WHERE k.account_id = r.account_id AND k.key = r.key AND r.result`
  return {
    storedResults: sql`UPDATE idempotency_keys k SET result = r.result FROM ${reserved} IS NOT NULL RETURNING 1`,
    freedKeys: sql`DELETE FROM idempotency_keys k USING ${reserved} IS NULL RETURNING 1`,
  }
}

/** The key of a request; '' without one. */
const keyOf = ({ request }: KeyedRequest) => request.idempotencyKey ?? ''
const hasKey = (one: KeyedRequest) => keyOf(one) !== ''
