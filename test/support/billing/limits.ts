import { openDatabase } from '../../../src/database/client.ts'
import type { TestApp } from '../app.ts'
import { performDueBilling } from './due.ts'

export const limitFields = 'id apiKeyId window amount used action reachedAt'
const resultFields = `... on SetSpendLimitSuccess { spendLimit { ${limitFields} } } ... on NotFoundError { id }
  ... on Error { code message } ... on InvalidInputError { issues { path message } }`

type TestLimitInput = { apiKeyId?: string | null | undefined; [name: string]: unknown }

/** Spend limits through the API, and the billing work that applies them. */
export function limitsOf(app: TestApp) {
  return {
    /** Limits the account if no key is named. */
    // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
    async set(key: string, { apiKeyId, ...values }: TestLimitInput): Promise<any> {
      const query = `mutation ($input: SetSpendLimitInput!) { setSpendLimit(input: $input) { ${resultFields} } }`
      const input = { target: targetOf(apiKeyId), ...values }
      const { data, errors } = await app.graphql(key, query, { input })
      return errors ? errors[0]?.extensions['code'] : (data.setSpendLimit.spendLimit ?? data.setSpendLimit)
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
      const database = openDatabase({ url: app.database.url, poolSize: 1, onIdleError: () => {}, now: app.clock.now })
      return await performDueBilling({ database }, accountId).finally(() => database.close())
    },
  }
}

export function targetOf(apiKeyId: string | null | undefined): object {
  return apiKeyId == null ? { account: true } : { apiKeyId }
}
