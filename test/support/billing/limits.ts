import { openDatabase } from '../../../src/database/client.ts'
import type { TestApp } from '../app.ts'
import { urlAs } from '../database/roles.ts'
import { performDueBilling } from './due.ts'

export const limitFields = 'id subjectId window amount used action reachedAt'
const errorFields = `... on NotFoundError { id } ... on Error { code message }
  ... on InvalidInputError { issues { path message } }`

type TestLimitInput = { apiKeyId?: string | null | undefined; action?: string; [name: string]: unknown }

/** Spend limits through the API, and the billing work that applies them. */
export function limitsOf(app: TestApp) {
  return {
    /** Creates a limit, or changes the limit of the same subject and window. Limits the account if no key is named. */
    // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
    async set(key: string, limit: TestLimitInput): Promise<any> {
      const made = await this.create(key, limit)
      const { amount, action = 'BLOCK_NEW' } = limit
      return made.code === 'CONFLICT' ? await this.update(key, { id: made.id, amount, action }) : made
    },
    // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
    async create(key: string, { apiKeyId, ...values }: TestLimitInput): Promise<any> {
      const query = `mutation ($input: CreateSpendLimitInput!) { createSpendLimit(input: $input) {
        ... on CreateSpendLimitSuccess { spendLimit { ${limitFields} } } ... on ConflictError { id } ${errorFields} } }`
      const input = { subject: subjectOf(apiKeyId), ...values }
      const { data, errors } = await app.graphql(key, query, { input })
      return errors ? errors[0]?.extensions['code'] : (data.createSpendLimit.spendLimit ?? data.createSpendLimit)
    },
    // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
    async update(key: string, input: { id: string; [name: string]: unknown }): Promise<any> {
      const query = `mutation ($input: UpdateSpendLimitInput!) { updateSpendLimit(input: $input) {
        ... on UpdateSpendLimitSuccess { spendLimit { ${limitFields} } } ${errorFields} } }`
      const { data, errors } = await app.graphql(key, query, { input })
      return errors ? errors[0]?.extensions['code'] : (data.updateSpendLimit.spendLimit ?? data.updateSpendLimit)
    },
    // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
    async remove(key: string, id: string): Promise<any> {
      const query = `mutation ($input: DeleteSpendLimitInput!) { deleteSpendLimit(input: $input) {
        ... on DeleteSpendLimitSuccess { deletedId } ... on Error { code message } } }`
      const { data, errors } = await app.graphql(key, query, { input: { id } })
      return errors ? errors[0]?.extensions['code'] : (data.deleteSpendLimit.deletedId ?? data.deleteSpendLimit)
    },
    /** The limits of the account, and of each of its keys. */
    async read(key: string) {
      const query = `{ viewer { account { spendLimits { ${limitFields} } apiKeys { id spendLimits { ${limitFields} } } } } }`
      const { data } = await app.graphql(key, query)
      return { account: data.viewer.account.spendLimits, keys: data.viewer.account.apiKeys }
    },
    async accountOf(key: string): Promise<{ accountId: number; apiKeyId: number }> {
      const [row] = await app.sql(`SELECT account_id, id FROM api_keys WHERE public_id = '${key.split('_')[1]}'`)
      const { account_id: accountId, id: apiKeyId } = row as { account_id: number; id: number }
      return { accountId, apiKeyId }
    },
    /** Performs the billing work of an account, including its limits. */
    async enforce(accountId: number): Promise<Date | null> {
      const database = openDatabase({
        url: urlAs('app', app.database.url),
        poolSize: 1,
        onIdleError: () => {},
        now: app.clock.now,
      })
      return await performDueBilling({ database }, accountId).finally(() => database.close())
    },
  }
}

export function subjectOf(apiKeyId: string | null | undefined): object {
  return apiKeyId == null ? { account: true } : { apiKeyId }
}
