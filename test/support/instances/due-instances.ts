import { listMachines } from '../factories.ts'
import type { Gateway } from '../gateways.ts'

/**
 * Creates an account with `count` stopped instances that are due a millisecond apart. They are copies of one rental and
 * share its machine.
 */
export async function createDueInstances(
  gateway: Gateway,
  count: number,
  from: Date,
): Promise<{ accountId: number; ids: bigint[] }> {
  const actor = await gateway.newActor()
  await listMachines(gateway.operations, [{}])
  const [offer] = await gateway.sql('SELECT max(id) AS id FROM offers')
  const first = await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { targetState: 'stopped' } })
  await gateway.sql(
    `WITH numbers AS (
      SELECT n, nextval('offers_id_seq') AS offer_id, nextval('instances_id_seq') AS id FROM generate_series(2, $2::int) AS n
    ), copied AS (
      INSERT INTO offers SELECT (jsonb_populate_record(o, jsonb_build_object('id', numbers.offer_id))).*
      FROM numbers, offers o JOIN instances i ON i.offer_id = o.id WHERE i.id = $1
    )
    INSERT INTO instances SELECT (jsonb_populate_record(i, jsonb_build_object('id', numbers.id, 'offer_id', numbers.offer_id))).*
    FROM numbers, instances i WHERE i.id = $1`,
    [String(first.id), count],
  )
  const rows = await gateway.sql(
    `UPDATE instance_looks SET due_at = $2::timestamptz + (instance_id - $3) * interval '1 millisecond' WHERE account_id = $1
    RETURNING instance_id AS id`,
    [actor.accountId, from, String(first.id)],
  )
  return { accountId: actor.accountId, ids: rows.map(({ id }) => BigInt(id as string)) }
}
