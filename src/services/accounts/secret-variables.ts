import { Prisma } from '../../database/generated/client.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import {
  maxSecretVariables,
  type SecretVariable,
  secretVariableIssues,
  toSecretEnvVar,
} from '../../domain/accounts/secret-variables.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { dedupeEnvironment, type EnvVar, emptyEnvironment } from '../../domain/launch/env.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import type { Secrets } from '../secrets.ts'

const { sql } = Prisma
const columns = modelColumnsOf(Prisma.SecretVariableScalarFieldEnum)

export function secretVariableServices({ database, secrets }: Pick<Deps, 'database' | 'secrets'>) {
  return {
    /** The account's variables without their values, in name order. */
    async list(actor: Actor): Promise<SecretVariable[]> {
      authorize(actor, 'secretVariables.list')
      return await find(sql`account_id = ${actor.accountId}`)
    },

    /** Creates or replaces variables by name, all or none. With `known`, every name must exist already. */
    async set(
      actor: Actor,
      variables: { name: string; value: string }[],
      { known = false } = {},
    ): Promise<SecretVariable[]> {
      authorize(actor, 'secretVariables.set')
      const { env: changed } = dedupeEnvironment({ ...emptyEnvironment(), env: variables.map(toSecretEnvVar) })
      const names = changed.map(({ name }) => name)
      const issues = secretVariableIssues(changed, [])
      if (issues.length > 0) throw invalidInput(issues)
      await transaction(database, async tx => {
        // Serializes changes of the account's variables, so that the limits of count and size hold.
        await tx.rows(sql`SELECT FROM accounts WHERE id = ${actor.accountId} FOR NO KEY UPDATE`)
        const kept = await loadSecretVariables(tx, secrets, actor)
        if (known && !names.every(name => kept.some(variable => variable.name === name))) throw variableNotFound()
        const all = dedupeEnvironment({ ...emptyEnvironment(), env: [...kept, ...changed] }).env
        const more = secretVariableIssues([], all)
        if (more.length > 0) throw invalidInput(more)
        if (all.length > maxSecretVariables) {
          const message = `An account has at most ${maxSecretVariables} secret variables. Delete one first.`
          throw new DomainError('CONFLICT', message, { subject: null })
        }
        await save(tx, actor, changed, tx.at)
      })
      return await find(sql`account_id = ${actor.accountId} AND name = ANY(${names})`)
    },

    /** Deletes a variable. Instances that were rented with the variable keep it. */
    async delete(actor: Actor, name: string): Promise<void> {
      authorize(actor, 'secretVariables.delete')
      // PostgreSQL cannot store such a string, so no variable has this name.
      if (!name.isWellFormed() || name.includes('\0')) throw variableNotFound()
      const { accountId, apiKeyId } = actor
      await transaction(database, async tx => {
        const deleted = await tx.rows(sql`
          DELETE FROM secret_variables WHERE account_id = ${accountId} AND name = ${name} RETURNING name`)
        if (deleted.length === 0) throw variableNotFound()
        await recordEvents(
          tx,
          [{ kind: 'SECRET_VARIABLE_DELETED', accountId, actor: apiKeyActor({ apiKeyId }), before: { name } }],
          tx.at,
        )
      })
    },
  }

  async function find(condition: Prisma.Sql): Promise<SecretVariable[]> {
    const rows = await database.rows(sql`
      SELECT name, created_at, updated_at FROM secret_variables WHERE ${condition} ORDER BY name COLLATE "C"`)
    return rows.map(([name, createdAt, updatedAt]) => ({ name, createdAt, updatedAt }) as SecretVariable)
  }

  async function save(tx: Transaction, { accountId, apiKeyId }: Actor, changed: EnvVar[], at: Date): Promise<void> {
    if (changed.length === 0) return
    const rows = changed.map(({ name, value }) => {
      const sealed = `\\x${secrets.seal(value).toString('hex')}`
      return { accountId, name, value: sealed, createdAt: at, updatedAt: at }
    })
    await tx.rows(sql`${insertSql('secret_variables', columns, rows)}
      ON CONFLICT (account_id, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`)
    const event = { kind: 'SECRET_VARIABLE_UPDATED' as const, accountId, actor: apiKeyActor({ apiKeyId }) }
    await recordEvents(
      tx,
      changed.map(({ name }) => ({ ...event, after: { name } })),
      at,
    )
  }
}

/** The variables, with their values, that a new rental of the account gets. Internal: does not authorize. */
export async function loadSecretVariables(tx: Transaction, secrets: Secrets, { accountId }: Actor): Promise<EnvVar[]> {
  const rows = await tx.rows(sql`
    SELECT name, value FROM secret_variables WHERE account_id = ${accountId} ORDER BY name COLLATE "C"`)
  return rows.map(([name, value]) => toSecretEnvVar({ name: name as string, value: secrets.open(value as Buffer) }))
}

function variableNotFound(): DomainError {
  return new DomainError('NOT_FOUND', 'There is no secret variable with this name.', { subject: null })
}
