import { errorCodesOf } from '../database/failure-codes.ts'
import { Prisma } from '../database/generated/client.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import type { Operation } from '../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError, invalidInput } from '../domain/errors.ts'
import { textProblem } from '../domain/texts.ts'
import type { Deps } from './deps.ts'
import { openJson, sealJson } from './secrets.ts'

const { sql } = Prisma

const maxKeyCharacters = 255
/** How long a repetition waits for the first request to end, in milliseconds. */
const firstRequestWaitMs = 1_500

/** What a result is written as. Large integers and instants are texts in it. */
export type JsonResult = { [name: string]: JsonValue }
type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue }

/** A write that must not happen twice: which, and everything that was asked for, as far as it decides what happens. */
export type IdempotentRequest = { operation: Operation; input: unknown; idempotencyKey?: string | null | undefined }

type IdempotencyDeps = Pick<Deps, 'database' | 'secrets'>

/**
 * Does something in one transaction; with an idempotency key, once per account and day. The API key that asked first
 * gets the same result again when it repeats the same request. Any other request meets a conflict. Nothing is kept of
 * what failed. The caller authorises the request before. `permit` refuses what needs a lock to know; it runs before
 * the work and before a result is given again.
 */
export async function runIdempotent<Kept extends JsonResult>(
  deps: IdempotencyDeps,
  actor: Actor,
  request: IdempotentRequest,
  work: (tx: Transaction) => Promise<Kept>,
  checkPermission: (tx: Transaction) => Promise<void> = async () => {},
): Promise<{ result: Kept; replayed: boolean }> {
  const { database, secrets } = deps
  const { accountId } = actor
  const key = parseIdempotencyKey(request)
  if (key === undefined) {
    const checkedWork = async (tx: Transaction) => {
      await checkPermission(tx)
      return await work(tx)
    }
    return { result: await transaction(database, checkedWork), replayed: false }
  }
  const hash = hashRequest(deps, request)
  return await transaction(database, async tx => {
    const isFirst = await claimKey(tx, actor, key, hash)
    await checkPermission(tx)
    if (!isFirst) {
      const kept = await findResult<Kept>(deps, tx, actor, key, hash)
      // It was there, and is not: it expired just now.
      if (kept === undefined) throw idempotencyInProgress()
      return { result: kept, replayed: true }
    }
    const result = await work(tx)
    const sealed = sealJson(secrets, result)
    await tx.rows(sql`UPDATE idempotency_keys SET result = ${sealed} WHERE account_id = ${accountId} AND key = ${key}`)
    return { result, replayed: false }
  })
}

/** What the same request came to before; undefined for the first, and where it may be running still. */
export async function findReplay<Kept extends JsonResult>(
  deps: IdempotencyDeps,
  actor: Actor,
  request: IdempotentRequest,
): Promise<Kept | undefined> {
  const key = parseIdempotencyKey(request)
  if (key === undefined) return undefined
  return await findResult<Kept>(deps, deps.database, actor, key, hashRequest(deps, request))
}

/**
 * In the transaction of a part of a request: its key is that of the whole from now on, and refused to another request.
 * The part is done once under a key of its own, which is `partKey`.
 */
export async function claimBatchKey(
  tx: Transaction,
  deps: IdempotencyDeps,
  actor: Actor,
  batch: IdempotentRequest,
): Promise<void> {
  const key = parseIdempotencyKey(batch)
  if (key === undefined) return
  const hash = hashRequest(deps, batch)
  if (await claimKey(tx, actor, key, hash)) {
    const emptyResult = sealJson(deps.secrets, {})
    await tx.rows(
      sql`UPDATE idempotency_keys SET result = ${emptyResult} WHERE account_id = ${actor.accountId} AND key = ${key}`,
    )
  } else await findResult(deps, tx, actor, key, hash)
}

/** As long for every key, and nobody's own: who could guess it could spoil the part. */
export function itemKey(
  { secrets }: IdempotencyDeps,
  { idempotencyKey: key }: IdempotentRequest,
  item: string,
): string | undefined {
  return key ? secrets.digest('idempotency part', `${key} ${item}`).toString('hex') : undefined
}

function parseIdempotencyKey({ idempotencyKey: key }: IdempotentRequest): string | undefined {
  if (key === undefined || key === null || key === '') return undefined
  const problem = textProblem(key, maxKeyCharacters)
  if (problem) throw invalidInput([{ path: 'idempotencyKey', message: problem }])
  return key
}

function hashRequest({ secrets }: IdempotencyDeps, { operation, input }: IdempotentRequest): Buffer {
  return secrets.digest(`idempotency ${operation}`, canonicalJson(input))
}

/** True for the first, also after one that expired. Another that came first and has not ended is waited for. */
async function claimKey(tx: Transaction, actor: Actor, key: string, hash: Buffer): Promise<boolean> {
  const { accountId, apiKeyId } = actor
  await tx.rows(sql`SELECT set_config('lock_timeout', ${String(firstRequestWaitMs)}, true)`)
  const claiming = tx.rows(sql`
    INSERT INTO idempotency_keys AS k (account_id, key, api_key_id, input_hash, result, created_at)
    VALUES (${accountId}, ${key}, ${apiKeyId}, ${hash}, '', ${tx.at})
    ON CONFLICT (account_id, key) DO UPDATE
    SET api_key_id = excluded.api_key_id, input_hash = excluded.input_hash, result = excluded.result, created_at = excluded.created_at
    WHERE k.created_at <= ${keyExpirySql(sql`${tx.at}::timestamptz`)} RETURNING key`)
  const claimed = await claiming.catch((error: unknown) => {
    throw errorCodesOf(error).includes('55P03') ? idempotencyInProgress() : error
  })
  await tx.rows(sql`SET LOCAL lock_timeout TO DEFAULT`)
  return claimed.length === 1
}

/**
 * What is kept under a key, and has not expired. It is refused to another request, and in the same words to another API
 * key, which learns nothing of the first. An API key that ended since it asked gets nothing either.
 */
async function findResult<Kept extends JsonResult>(
  { secrets }: IdempotencyDeps,
  from: Pick<Transaction, 'rows' | 'now'>,
  { accountId, apiKeyId, publicId }: Actor,
  key: string,
  hash: Buffer,
): Promise<Kept | undefined> {
  const [row] = await from.rows(sql`
    SELECT i.api_key_id, i.input_hash, i.result, EXISTS (SELECT FROM api_keys k WHERE k.id = ${apiKeyId}
      AND k.public_id = ${publicId} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${from.now}))
    FROM idempotency_keys i
    WHERE i.account_id = ${accountId} AND i.key = ${key} AND i.created_at > ${keyExpirySql(from.now)}`)
  if (!row) return undefined
  const [firstApiKeyId, firstHash, result, isKeyValid] = row as [number | null, Buffer, Buffer, boolean]
  if (!isKeyValid) throw new DomainError('UNAUTHENTICATED', 'Invalid user key')
  if (firstApiKeyId === apiKeyId && firstHash.equals(hash)) return openJson<Kept>(secrets, result) ?? undefined
  const message =
    'This idempotency key was used in the last 24 hours for another request. Send a new request with a key of its own.'
  throw new DomainError('IDEMPOTENCY_KEY_REUSED', message)
}

/** Keys that were first used then, or before, have expired. */
export function keyExpirySql(now: Prisma.Sql): Prisma.Sql {
  return sql`${now} - interval '24 hours'`
}

function idempotencyInProgress(): DomainError {
  const message = 'The first request with this idempotency key has not ended yet. Try again in a moment.'
  return new DomainError('IDEMPOTENCY_IN_PROGRESS', message)
}

/** One text for equal inputs: names in order, and nothing for what is absent. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
