import { Prisma } from '../../database/generated/client.ts'
import { bytea, int4, type RowOf, text } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import { type Read, readOf } from '../../database/together.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import {
  maxSecretVariables,
  parseDeletedNames,
  secretVariableIssues,
  toSecretEnvVar,
  variablesNotFound,
} from '../../domain/accounts/secret-variables.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { dedupeEnvironment, type EnvVar, emptyEnvironment } from '../../domain/launch/env.ts'
import { textProblem } from '../../domain/texts.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import type { Secrets } from '../secrets.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../selected.ts'

const { sql } = Prisma
const columns = modelColumnsOf(Prisma.SecretVariableScalarFieldEnum)

export type SecretVariableSelect = ColumnSelect<'SecretVariable', 'name'>
type Selected<Select> = SelectedColumns<'SecretVariable', 'name', Select>

export function secretVariableServices({ database, secrets }: Pick<Deps, 'database' | 'secrets'>) {
  return {
    /** The account's variables without their values, in name order. */
    async list<Select extends SecretVariableSelect>(actor: Actor, select: Select) {
      authorize(actor, 'secretVariables.list')
      return await find(actor, {}, select)
    },

    /** Creates or replaces variables by name, all or none. With `known`, every name must exist already. */
    async update<Select extends SecretVariableSelect>(
      actor: Actor,
      variables: { name: string; value: string }[],
      select: Select,
      { known = false } = {},
    ) {
      authorize(actor, 'secretVariables.set')
      const { env: changed } = dedupeEnvironment({ ...emptyEnvironment(), env: variables.map(toSecretEnvVar) })
      const names = changed.map(({ name }) => name)
      const issues = secretVariableIssues(changed, [])
      if (issues.length > 0) throw invalidInput(issues)
      await transaction(database, async tx => {
        // Serializes changes of the account's variables, so that the limits of count and size hold.
        await tx.execute(sql`SELECT FROM accounts WHERE id = ${actor.accountId} FOR NO KEY UPDATE`)
        const kept = await loadSecretVariables(tx, secrets, actor)
        const unknown = names.filter(name => !kept.some(variable => variable.name === name))
        if (known && unknown.length > 0) throw variablesNotFound(unknown)
        const all = dedupeEnvironment({ ...emptyEnvironment(), env: [...kept, ...changed] }).env
        const more = secretVariableIssues([], all)
        if (more.length > 0) throw invalidInput(more)
        if (all.length > maxSecretVariables) {
          const message = `An account has at most ${maxSecretVariables} secret variables. Delete one first.`
          throw new DomainError('CONFLICT', message, { subject: null })
        }
        await save(tx, actor, changed, tx.at)
      })
      return await find(actor, { name: { in: names } }, select)
    },

    /** Deletes variables by name, all or none. Instances that were rented with a variable keep it. */
    async delete(actor: Actor, given: readonly string[]): Promise<string[]> {
      authorize(actor, 'secretVariables.delete')
      const names = parseDeletedNames(given)
      // PostgreSQL cannot compare other names, so no variable has one of them.
      const storable = names.filter(name => textProblem(name) === undefined)
      const { accountId, apiKeyId } = actor
      return await transaction(database, async tx => {
        // Serializes changes of the account's variables.
        await tx.execute(sql`SELECT FROM accounts WHERE id = ${accountId} FOR NO KEY UPDATE`)
        const rows = await tx.query(
          sql`DELETE FROM secret_variables WHERE account_id = ${accountId} AND name = ANY(${storable}::text[]) RETURNING name`,
          { name: text },
        )
        const deleted = names.filter(name => rows.some(row => row.name === name))
        if (deleted.length < names.length) throw variablesNotFound(names.filter(name => !deleted.includes(name)))
        const event = { kind: 'SECRET_VARIABLE_DELETED' as const, accountId, actor: apiKeyActor({ apiKeyId }) }
        await recordEvents(
          tx,
          deleted.map(name => ({ ...event, before: { name } })),
          tx.at,
        )
        return deleted
      })
    },
  }

  async function find<Select extends SecretVariableSelect>(
    { accountId }: Actor,
    where: Prisma.SecretVariableWhereInput,
    select: Select,
  ): Promise<Selected<Select>[]> {
    const found = await database.prisma.secretVariable.findMany({ where: { ...where, accountId }, select })
    // Sorted here, because the database sorts texts by its locale.
    return asSelected<Selected<Select>[]>(found).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  async function save(tx: Transaction, { accountId, apiKeyId }: Actor, changed: EnvVar[], at: Date): Promise<void> {
    if (changed.length === 0) return
    const rows = changed.map(({ name, value }) => {
      return { accountId, name, value: secrets.seal(value), createdAt: at, updatedAt: at }
    })
    await tx.execute(sql`${insertSql('secret_variables', columns, rows)}
      ON CONFLICT (account_id, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`)
    const event = { kind: 'SECRET_VARIABLE_UPDATED' as const, accountId, actor: apiKeyActor({ apiKeyId }) }
    await recordEvents(
      tx,
      changed.map(({ name }) => ({ ...event, after: { name } })),
      at,
    )
  }
}

/** The variables with their values. */
async function loadSecretVariables(tx: Transaction, secrets: Secrets, actor: Actor): Promise<EnvVar[]> {
  const { statement, shape } = secretVariablesRead([actor.accountId])
  return (await tx.query(statement, shape)).map(row => openVariable(secrets, row))
}

/** The rows that `openVariable` makes variables of. Those of an account are in the order of their names. */
export function secretVariablesRead(accountIds: readonly number[]): Read<typeof sealedVariable> {
  const statement = sql`
    SELECT account_id, name, value FROM secret_variables WHERE account_id = ANY(${accountIds}::int[]) ORDER BY name COLLATE "C"`
  return readOf(statement, sealedVariable)
}

const sealedVariable = { accountId: int4, name: text, value: bytea }
type SealedVariable = RowOf<typeof sealedVariable>

export function openVariable(secrets: Secrets, { name, value }: Pick<SealedVariable, 'name' | 'value'>): EnvVar {
  return toSecretEnvVar({ name, value: secrets.open(value) })
}
