import { errorCodesOf } from '../database/failure-codes.ts'
import { Prisma } from '../database/generated/client.ts'
import { bool, bytea, int4, nullable } from '../database/row-types.ts'
import { writeTogether } from '../database/together.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import { invalidKey } from '../domain/accounts/invalid-key.ts'
import type { Operation } from '../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError, invalidInput } from '../domain/errors.ts'
import { textProblem } from '../domain/texts.ts'
import { activeKeySql } from './accounts/api-keys/find.ts'
import type { Deps } from './deps.ts'
import { openJson, sealJson } from './secrets.ts'

const { sql } = Prisma

const maxKeyCharacters = 255
/** How long a repetition waits for the first request to end. */
const firstRequestWaitMs = 1_500

/** The stored form of a result. Large integers and instants are strings. */
export type JsonResult = { [name: string]: JsonValue }
type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue }

/** A write that must not happen twice. `input` holds everything in the request that affects the outcome. */
export type IdempotentRequest = { operation: Operation; input: unknown; idempotencyKey?: string | null | undefined }

export type IdempotencyDeps = Pick<Deps, 'database' | 'secrets'>

/**
 * Does what must not happen twice. With `storeWrites`, it can store its result with what else it writes; otherwise the
 * result is stored after it.
 */
type Work<Result> = (tx: Transaction, storeWrites: StoreWrites<Result>) => Promise<Result>
export type StoreWrites<Result> = (result: Result) => Record<string, Prisma.Sql>

type Steps<Result extends JsonResult, Answer> = {
  /** Checks that need a lock. They run before the work, and before a stored result is read. */
  checkPermission?: ((tx: Transaction) => Promise<void>) | undefined
  work: Work<Result>
  /** Reads what the result names, so that a repeated request shows it as it is now. */
  read: (tx: Transaction, result: Result) => Promise<Answer>
}

/**
 * Runs the work in one transaction. With an idempotency key, the work runs only once per account and key within 24 hours.
 * - If the same API key repeats the same request, it gets the stored result.
 * - Any other request with the idempotency key is refused.
 * - A failure stores nothing.
 *
 * The caller must authorize the request first.
 */
export async function runIdempotent<Result extends JsonResult>(
  deps: IdempotencyDeps,
  actor: Actor,
  request: IdempotentRequest,
  work: Work<Result>,
  checkPermission?: (tx: Transaction) => Promise<void>,
): Promise<{ result: Result; replayed: boolean }> {
  const read = async (_tx: Transaction, result: Result) => result
  const { answer, replayed } = await runAndRead(deps, actor, request, { checkPermission, work, read })
  return { result: answer, replayed }
}

/** `runIdempotent` that reads its answer in the same transaction. Only what `work` returns is stored. */
export async function runAndRead<Result extends JsonResult, Answer>(
  deps: IdempotencyDeps,
  actor: Actor,
  request: IdempotentRequest,
  { checkPermission = async () => {}, work, read }: Steps<Result, Answer>,
): Promise<{ answer: Answer; replayed: boolean }> {
  const { database, secrets } = deps
  const { accountId } = actor
  const key = parseIdempotencyKey(request)
  if (key === undefined) {
    const checkedWork = async (tx: Transaction) => {
      await checkPermission(tx)
      return await read(tx, await work(tx, () => ({})))
    }
    return { answer: await transaction(database, checkedWork), replayed: false }
  }
  const hash = hashRequest(deps, request)
  return await transaction(database, async tx => {
    const isFirst = await reserveKey(tx, actor, key, hash)
    await checkPermission(tx)
    if (!isFirst) {
      const storedResult = await findResult<Result>(deps, tx, actor, key, hash)
      // The earlier result expired between `reserveKey` and this read. A retry runs as the first request.
      if (storedResult === undefined) throw idempotencyInProgress(tx.at)
      return { answer: await read(tx, storedResult), replayed: true }
    }
    let isStored = false
    const storeWrites = (result: Result) => {
      isStored = true
      const sealed = sealJson(secrets, result)
      const update = sql`UPDATE idempotency_keys SET result = ${sealed} WHERE account_id = ${accountId} AND key = ${key}`
      return { storedResult: sql`${update} RETURNING 1` }
    }
    const result = await work(tx, storeWrites)
    if (!isStored) await writeTogether(tx, storeWrites(result))
    return { answer: await read(tx, result), replayed: false }
  })
}

/** The stored result of the same request; undefined if there is none, or if the first request may still be running. */
export async function findReplay<Result extends JsonResult>(
  deps: IdempotencyDeps,
  actor: Actor,
  request: IdempotentRequest,
): Promise<Result | undefined> {
  const key = parseIdempotencyKey(request)
  if (key === undefined) return undefined
  return await findResult<Result>(deps, deps.database, actor, key, hashRequest(deps, request))
}

/**
 * Reserves the batch's key inside the transaction of one item: another request with that key is then refused. Each item
 * runs once under a key of its own: see `itemKey`.
 */
export async function reserveBatchKey(
  tx: Transaction,
  deps: IdempotencyDeps,
  actor: Actor,
  batch: IdempotentRequest,
): Promise<void> {
  const key = parseIdempotencyKey(batch)
  if (key === undefined) return
  const hash = hashRequest(deps, batch)
  if (await reserveKey(tx, actor, key, hash)) {
    const emptyResult = sealJson(deps.secrets, {})
    await tx.execute(
      sql`UPDATE idempotency_keys SET result = ${emptyResult} WHERE account_id = ${actor.accountId} AND key = ${key}`,
    )
  } else await findResult(deps, tx, actor, key, hash)
}

/**
 * The key of one item of a batch. It has a fixed length, and callers cannot guess it: otherwise a caller could reserve it
 * first, and so block the item.
 */
export function itemKey(
  { secrets }: IdempotencyDeps,
  { idempotencyKey: key }: IdempotentRequest,
  item: string,
): string | undefined {
  return key ? secrets.digest('idempotency part', `${key} ${item}`).toString('hex') : undefined
}

export function parseIdempotencyKey({ idempotencyKey: key }: IdempotentRequest): string | undefined {
  if (key === undefined || key === null || key === '') return undefined
  const problem = textProblem(key, maxKeyCharacters)
  if (problem) throw invalidInput([{ path: 'idempotencyKey', message: problem }])
  return key
}

export function hashRequest({ secrets }: IdempotencyDeps, { operation, input }: IdempotentRequest): Buffer {
  return secrets.digest(`idempotency ${operation}`, canonicalJson(input))
}

/**
 * Reserves the key. Returns true for the first request with this key, and for the first request after the key has
 * expired. Waits for an earlier request that has not ended.
 */
async function reserveKey(tx: Transaction, actor: Actor, key: string, hash: Buffer): Promise<boolean> {
  const { accountId, apiKeyId } = actor
  // One statement: it sets the timeout before it inserts, and resets it if it has inserted.
  const reserving = tx.execute(sql`
    WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS timeout),
    brief AS MATERIALIZED (SELECT set_config('lock_timeout', ${String(firstRequestWaitMs)}, true) FROM before)
    INSERT INTO idempotency_keys AS k (account_id, key, api_key_id, input_hash, result, created_at)
    SELECT ${accountId}::int, ${key}, ${apiKeyId}::int, ${hash}::bytea, '', ${tx.at}::timestamptz FROM brief
    ON CONFLICT (account_id, key) DO UPDATE
    SET api_key_id = excluded.api_key_id, input_hash = excluded.input_hash, result = excluded.result, created_at = excluded.created_at
    WHERE k.created_at <= ${keyExpirySql(sql`${tx.at}::timestamptz`)}
    RETURNING set_config('lock_timeout', (SELECT timeout FROM before), true)`)
  const reserved = await reserving.catch((error: unknown) => {
    throw errorCodesOf(error).includes('55P03') ? idempotencyInProgress(tx.at) : error
  })
  if (reserved === 0) await tx.execute(sql`SET LOCAL lock_timeout TO DEFAULT`)
  return reserved === 1
}

/**
 * The unexpired result stored under a key. Another request is refused. Another API key gets the same refusal, so it
 * learns nothing about the first request. An API key that was revoked, reset or expired meanwhile gets nothing either.
 */
async function findResult<Result extends JsonResult>(
  { secrets }: IdempotencyDeps,
  from: Pick<Transaction, 'query' | 'nowSql'>,
  { accountId, apiKeyId, publicId }: Actor,
  key: string,
  hash: Buffer,
): Promise<Result | undefined> {
  const [row] = await from.query(
    sql`
    SELECT i.api_key_id, i.input_hash, i.result, EXISTS (SELECT FROM api_keys k WHERE k.id = ${apiKeyId}
      AND k.public_id = ${publicId} AND ${activeKeySql(from.nowSql)}) AS is_api_key_valid
    FROM idempotency_keys i
    WHERE i.account_id = ${accountId} AND i.key = ${key} AND i.created_at > ${keyExpirySql(from.nowSql)}`,
    { apiKeyId: nullable(int4), inputHash: bytea, result: bytea, isApiKeyValid: bool },
  )
  if (!row) return undefined
  if (!row.isApiKeyValid) throw invalidKey()
  if (row.apiKeyId === apiKeyId && row.inputHash.equals(hash)) return openJson<Result>(secrets, row.result)
  const message =
    'This idempotency key was used in the last 24 hours for another request. Send a new request with a key of its own.'
  throw new DomainError('IDEMPOTENCY_KEY_REUSED', message)
}

/** Keys that were first used at this time or earlier have expired. */
export function keyExpirySql(nowSql: Prisma.Sql): Prisma.Sql {
  return sql`${nowSql} - interval '24 hours'`
}

/** `at`: when the refused request began, before it waited for the first one. */
function idempotencyInProgress(at: Date): DomainError {
  const message = 'The first request with this idempotency key has not ended yet. Try again in a moment.'
  const retryAfter = new Date(at.getTime() + firstRequestWaitMs + 1_000)
  return new DomainError('IDEMPOTENCY_IN_PROGRESS', message, { retryAfter })
}

/** Equal inputs give the same text: names are sorted, and absent values are left out. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
