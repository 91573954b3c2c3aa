import type pg from 'pg'

/** An account and its 64 instances. */
export type Fleet = { account: number; ids: number[] }

export async function readFleets(client: pg.Client): Promise<Fleet[]> {
  const { rows } = await client.query(
    `SELECT account_id AS account, array_agg(instance_id::int ORDER BY place) AS ids FROM bench.rentals
     WHERE account_id > 1 GROUP BY account_id ORDER BY account_id`,
  )
  return rows
}
