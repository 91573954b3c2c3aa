// A database after long use: many running instances, and many rows of destroyed instances.

import type { TestApp } from '../app.ts'
import { rentalsOf } from '../instances/rentals.ts'

const [machines, running, destroyed] = [2_500, 5_000, 20_000]
/** The lowest id of the copies. It is above all ids that tests use. */
const firstCopyId = 1_000_000
/** Due times of copies: no copy is due while a test runs. */
const laterSql = "'2027-11-21T00:00:00Z'::timestamptz"

/**
 * The API key of one account, and one machine. Both have a share of the old rentals; the copied accounts and machines
 * have the rest.
 */
export type AgedData = { renter: string; machineId: number }

/**
 * Copies one rental, first while it runs and then after it was destroyed. Copies its offer, machine, meters, ledger
 * entries and events, too. Triggers and foreign keys are off meanwhile: with them, copying would
 * take minutes.
 */
export async function fillWithAgedData(app: TestApp): Promise<AgedData> {
  const { rent, converge } = rentalsOf(app)
  const renter = await app.newKey(null, { creditNanos: 100_000_000_000n })
  const id = await rent(renter, {}, { numGpus: 8 })
  await converge()
  const [row] = (await app.sql(`SELECT machine_id, account_id, offer_id FROM instances WHERE id = ${id}`)) as {
    machine_id: number
    account_id: number
    offer_id: string
  }[]
  const { machine_id: machineId, account_id: accountId, offer_id: offerId } = row as NonNullable<typeof row>

  /** Copies the matching rows of a table `count` times. `n` counts the copies. */
  const copy = (table: string, condition: string, count: number, changes: string) => `
    INSERT INTO ${table} SELECT c.* FROM (SELECT * FROM ${table} WHERE ${condition}) r
    CROSS JOIN generate_series(1, ${count}) n
    CROSS JOIN LATERAL jsonb_populate_record(NULL::${table}, to_jsonb(r) || jsonb_build_object(${changes})) c;`
  const copyRentals = (count: number, from: number, of: { account: string; machine: string; age: string }) => `
    ${copy('offers', `id = ${offerId}`, count, `'id', ${from} + n, 'machine_id', ${of.machine}, 'withdrawn_at', now()`)}
    ${copy(
      'instances',
      `id = ${id}`,
      count,
      `'id', ${from} + n, 'offer_id', ${from} + n, 'account_id', ${of.account}, 'machine_id', ${of.machine}, 'first_gpu', n % 8,
        'num_gpus', 1, 'due_at', CASE WHEN r.due_at IS NOT NULL THEN ${laterSql} END`,
    )}
    ${copy(
      'meters',
      `instance_id = ${id}`,
      count,
      `'id', 2 * (${from} + n) + (r.kind = 'disk')::int, 'instance_id', ${from} + n, 'account_id', ${of.account}, 'api_key_id', NULL,
        'since', r.since - interval '${of.age}'`,
    )}
    ${copy(
      'ledger_entries',
      `meter_id IN (SELECT id FROM meters WHERE instance_id = ${id})`,
      count,
      `'id', 100 * (${from} + n) + r.id % 100, 'meter_id', 2 * (${from} + n) + (r.kind = 'disk')::int, 'account_id', ${of.account},
        'period_start', r.period_start - interval '${of.age}', 'period_end', r.period_end - interval '${of.age}'`,
    )}
    ${copy(
      'events',
      `instance_id = ${id}`,
      count,
      `'id', 100 * (${from} + n) + r.id % 100, 'instance_id', ${from} + n, 'account_id', ${of.account}`,
    )}`
  const replicate = (text: string) =>
    app.sql(`SET session_replication_role = replica; ${text} SET session_replication_role = origin;`)

  const others = { account: `${firstCopyId} + n % 1000`, machine: `${firstCopyId} + n % ${machines}`, age: '0' }
  await replicate(`
    ${copy('accounts', `id = ${accountId}`, 1_000, `'id', ${firstCopyId} + n - 1, 'email', 'other-' || n, 'billing_due_at', ${laterSql}`)}
    ${copy('machines', `id = ${machineId}`, machines, `'id', ${firstCopyId} + n - 1`)}
    ${copy('gpus', `machine_id = ${machineId}`, machines, `'machine_id', ${firstCopyId} + n - 1, 'holder_id', NULL, 'occupant_id', NULL`)}
    ${copyRentals(running, firstCopyId, others)}
    UPDATE gpus SET holder_id = i.id, occupant_id = i.id FROM instances i
    WHERE i.id > ${firstCopyId} AND i.machine_id = gpus.machine_id AND i.first_gpu = index;`)
  await app.rest(renter, 'DELETE', `/instances/${id}/`)
  await converge()
  await replicate(
    copyRentals(destroyed, 2 * firstCopyId, {
      account: `CASE WHEN n % 8 = 0 THEN ${accountId} ELSE ${others.account} END`,
      machine: `CASE WHEN n % 10 = 0 THEN ${machineId} ELSE ${others.machine} END`,
      age: '30 days',
    }),
  )
  await app.sql('VACUUM ANALYZE')
  return { renter, machineId }
}
