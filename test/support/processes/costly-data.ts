// Data that legal operations cost most on.

import { emptyAbout } from '../../../src/domain/templates/about.ts'
import type { TestApp } from '../app.ts'
import { fillWithRentals } from '../database/data-shapes.ts'

/** Enough offers and instances for the longest lists. */
const rentalsEach = 15_000
const [grouped, stated] = [9_900, 800]

export type Costly = {
  /** The key of the account with the most rentals. */
  renter: string
  /** The key of an account whose rentals are almost as many as the groups that usage may have. */
  grouped: string
  /** The key of an account whose ledger is almost as long as a statement may be. */
  stated: string
  /** Living instances of the renter. */
  living: number[]
}

export async function fillForCostly(app: TestApp): Promise<Costly> {
  const shape = [rentalsEach, grouped, stated].map(count => ({ accounts: 1, rentalsEach: count }))
  const { renter } = await fillWithRentals(app, shape as [(typeof shape)[0], ...typeof shape], 3_000)
  await app.sql(`UPDATE api_keys SET public_id = 'copy0' || account_id WHERE public_id LIKE 'copy%'`)
  await app.sql(
    `INSERT INTO templates (account_id, name, hash_id, public, settings, created_at, updated_at)
     SELECT account_id, 'long ' || n, md5('long ' || n), false, settings || jsonb_build_object('about', $1::jsonb), created_at, updated_at
     FROM (SELECT * FROM templates ORDER BY id LIMIT 1) t, generate_series(1, 300) n`,
    [JSON.stringify({ ...emptyAbout, readme: 'é"'.repeat(25_000) })],
  )
  const rows = (await app.sql(
    `SELECT id::int FROM instances WHERE destroyed_at IS NULL AND account_id = (SELECT account_id FROM templates ORDER BY id LIMIT 1) ORDER BY id DESC`,
  )) as { id: number }[]
  const secret = renter.slice('berth_'.length + 12)
  const keyOf = (accountId: number) => `berth_copy0${accountId}${secret}`
  return { renter, grouped: keyOf(1_000_011), stated: keyOf(1_000_012), living: rows.map(({ id }) => id) }
}
