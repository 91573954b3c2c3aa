import { expect } from 'vitest'
import type { TestApp } from '../app.ts'
import { rentalsOf } from '../instances/rentals.ts'

export const hourMs = 3_600_000

export type TestLedgerEntry = {
  kind: string
  amount: bigint
  after: bigint
  start: Date | null
  end: Date | null
  rate: bigint | null
}
export type TestEvent = {
  kind: string
  reason: string | null
  instance_id: string | null
  after: Record<string, unknown>
  created_at: Date
}

/** An account for one test, with readers of its rows. */
export type TestAccount = Awaited<ReturnType<typeof newAccount>>

export async function newAccount(app: TestApp, creditNanos: bigint) {
  const key = await app.newKey(null, { creditNanos })
  const rentals = rentalsOf(app)
  const [row] = (await app.sql(
    'SELECT max(id) AS id, max(email) AS email FROM accounts WHERE id = (SELECT max(account_id) FROM api_keys)',
  )) as {
    id: number
    email: string
  }[]
  const { id, email } = row as { id: number; email: string }
  const first = async <Row>(text: string) => (await app.sql(text))[0] as Row

  return {
    id,
    key,
    email,
    /** Rents, waits until the instance runs, and returns when its GPUs began to cost money. */
    async rentRunning(body: object = {}, machine = {}) {
      const instance = await rentals.rent(key, body, machine)
      await rentals.converge()
      const { since } = await first<{ since: Date }>(
        `SELECT since FROM meters WHERE instance_id = ${instance} AND kind = 'gpu' AND rate_nanos > 0`,
      )
      return { id: instance, since }
    },
    row: () => first<Record<string, unknown>>(`SELECT * FROM accounts WHERE id = ${id}`),
    instance: (instance: number) => first<Record<string, unknown>>(`SELECT * FROM instances WHERE id = ${instance}`),
    look: (instance: number) =>
      first<Record<string, unknown>>(`SELECT * FROM instance_looks WHERE instance_id = ${instance}`),
    async entries(condition = 'true'): Promise<TestLedgerEntry[]> {
      const rows = (await app.sql(`
        SELECT e.kind, amount_nanos AS amount, balance_after_nanos AS after, period_start AS start, period_end AS end, e.rate_nanos AS rate
        FROM ledger_entries e LEFT JOIN meters m ON m.id = e.meter_id
        WHERE e.account_id = ${id} AND ${condition} ORDER BY e.id`)) as Record<string, string>[]
      return rows.map(({ amount, after, rate, ...rest }) => {
        const money = {
          amount: BigInt(amount as string),
          after: BigInt(after as string),
          rate: rate ? BigInt(rate) : null,
        }
        return { ...rest, ...money } as unknown as TestLedgerEntry
      })
    },
    eventsLike: async (like: string) =>
      (await app.sql(`
        SELECT kind, reason, instance_id, after, created_at FROM events WHERE account_id = ${id} AND kind LIKE '${like}' ORDER BY id`)) as TestEvent[],
    credit: async (): Promise<string> =>
      (await app.graphql(key, '{ viewer { account { credit } } }')).data.viewer.account.credit,
    async grant(amountNanos: bigint) {
      await app.operations.accounts.grantCredit(email, { amountNanos })
    },
    /** The ledger adds up to the account's credit, and each entry continues from the previous one. */
    async expectLedgerAddsUp() {
      let sum = 0n
      for (const { amount, after } of await this.entries()) {
        sum += amount
        expect(after).toBe(sum)
      }
      expect(await this.row()).toMatchObject({ posted_nanos: String(sum) })
    },
  }
}
