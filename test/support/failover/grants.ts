// An operator who grants credit again and again, and remembers which grants were acknowledged.

import { setTimeout as sleep } from 'node:timers/promises'
import type { FailoverSite } from './site.ts'

type Granting = Pick<FailoverSite, 'operations' | 'sql'>

/** A grant whose answer was lost is repeated with its key. */
export function startGrants({ operations, sql }: Granting, isOver: () => boolean) {
  const acknowledged: string[] = []
  let number = 0
  async function grantOne(idempotencyKey: string): Promise<void> {
    while (!isOver()) {
      try {
        await operations.accounts.grantCredit('ada@example.com', { amountNanos: 1n, idempotencyKey })
        return void acknowledged.push(idempotencyKey)
      } catch {
        await sleep(50)
      }
    }
  }
  async function run(): Promise<void> {
    for (; !isOver(); number += 1) {
      await grantOne(`grant ${number}`)
      await sleep(20)
    }
  }
  return {
    acknowledged,
    done: run(),
    /** Acknowledged grants that the ledger does not have, or has twice. */
    async findLost(): Promise<unknown[]> {
      return await sql(
        `SELECT g.key, count(l.id) FROM unnest($1::text[]) AS g (key) LEFT JOIN ledger_entries l ON l.idempotency_key = g.key
        GROUP BY g.key HAVING count(l.id) <> 1`,
        [acknowledged],
      )
    },
  }
}
