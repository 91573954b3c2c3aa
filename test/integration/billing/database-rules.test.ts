// The database itself refuses invalid money rows.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let instance: number
let account: number
/** The meters of the instance: one for its GPUs at $0.4 an hour, and one for its disk. */
let gpu: number
let disk: number
let volume: number
/** A meter of another account. */
let foreign: number

beforeAll(async () => {
  app = await startApp()
  const { rent, rentToStatus } = rentalsOf(app)
  instance = await rentToStatus(await app.newKey(null, someCredit), 'running')
  const other = await rent(await app.newKey(null, someCredit))
  account = await one(`SELECT account_id FROM instances WHERE id = ${instance}`)
  volume = await one(`
    INSERT INTO volumes (account_id, machine_id, name, size_mb, disk_price_per_gb_month_nanos, disk_nanos, created_at)
    SELECT account_id, machine_id, 'data', 1000, 0, 0, now() FROM instances WHERE id = ${instance} RETURNING id`)
  const meterOf = (id: number, kind: string) =>
    one(`SELECT id FROM meters WHERE instance_id = ${id} AND kind = '${kind}'`)
  gpu = await meterOf(instance, 'gpu')
  disk = await meterOf(instance, 'disk')
  foreign = await meterOf(other, 'disk')
})

afterAll(() => app.close())

async function one(query: string): Promise<number> {
  const [row] = (await app.sql(query)) as Record<string, unknown>[]
  return Number(Object.values(row ?? {})[0])
}

/** All stored money. A refused statement changes none of it. */
const money = () =>
  app.sql(`SELECT (SELECT json_agg(l ORDER BY id) FROM ledger_entries l)::text AS ledger,
    (SELECT json_agg(m ORDER BY id) FROM meters m)::text AS meters,
    (SELECT json_agg(json_build_array(posted_nanos, gpu_rate_nanos, gpu_origin, disk_rate_nanos, disk_origin, metered_at)
      ORDER BY id) FROM accounts)::text AS accounts`)

async function refused(query: string, why: string): Promise<void> {
  const before = await money()
  await expect(app.sql(query), query).rejects.toThrow(why)
  expect(await money()).toEqual(before)
}

const columns = 'account_id, kind, amount_nanos, meter_id, period_start, period_end, rate_nanos, carried, posted_at'
/** SQL that charges a meter for its next hour, with changed columns. */
function charging(meter: number, changed: Record<string, string> = {}): string {
  const {
    kind = 'm.kind::text::ledger_kind',
    account_id = 'm.account_id',
    amount_nanos = '-div(m.rate_nanos * 3600000::numeric + m.carried, 3600000)',
    meter_id = 'm.id',
    period_start = 'm.since',
    period_end = "m.since + interval '1 hour'",
    rate_nanos = 'm.rate_nanos',
    carried = 'm.carried',
  } = changed
  return `INSERT INTO ledger_entries (${columns}) SELECT ${account_id}, ${kind}, ${amount_nanos}, ${meter_id},
    ${period_start}, ${period_end}, ${rate_nanos}, ${carried}, now() FROM meters m WHERE m.id = ${meter}`
}
const other = (kind: string, changed: Record<string, string>) =>
  charging(gpu, { kind: `'${kind}'::ledger_kind`, ...noMeter, ...changed })
const noMeter = {
  meter_id: 'NULL::bigint',
  period_start: 'NULL::timestamptz',
  period_end: 'NULL::timestamptz',
  rate_nanos: 'NULL::bigint',
  carried: 'NULL::int',
}

describe('a ledger entry', () => {
  it('updates the balance and the meter when it is inserted, and cannot be inserted twice', async () => {
    const before = (await app.sql(`SELECT posted_nanos FROM accounts WHERE id = ${account}`)) as {
      posted_nanos: string
    }[]
    const posted = BigInt(before[0]?.posted_nanos as string)
    const [entry] = await app.sql(`${charging(gpu)} RETURNING amount_nanos, balance_after_nanos`)
    const balance = String(posted - 400_000_000n)
    expect(entry).toEqual({ amount_nanos: '-400000000', balance_after_nanos: balance })
    expect(await app.sql(`SELECT posted_nanos FROM accounts WHERE id = ${account}`)).toEqual([
      { posted_nanos: balance },
    ])
    expect(
      await app.sql(`SELECT charged_nanos, m.since = l.period_end AS moved FROM meters m
      JOIN ledger_entries l ON l.meter_id = m.id WHERE m.id = ${gpu}`),
    ).toEqual([{ charged_nanos: '400000000', moved: true }])
    const again = `INSERT INTO ledger_entries (${columns}) SELECT ${columns} FROM ledger_entries WHERE meter_id = ${gpu}`
    await refused(again, 'the entry does not go on from where meter')
  })

  it('carries the part that is less than a whole nano-dollar', async () => {
    const ninth = {
      period_end: "m.since + interval '1 millisecond'",
      amount_nanos: '-div(m.rate_nanos + m.carried, 3600000)',
    }
    const amounts: unknown[] = []
    for (let turn = 1; turn <= 9; turn += 1) {
      amounts.push(...(await app.sql(`${charging(gpu, ninth)} RETURNING amount_nanos, carried`)))
    }
    expect(amounts).toEqual(
      Array.from({ length: 9 }, (_, index) => ({
        amount_nanos: index < 8 ? '-111' : '-112',
        carried: 400_000 * index,
      })),
    )
    expect(await one(`SELECT carried FROM meters WHERE id = ${gpu}`)).toBe(0)
  })

  it.each([
    ['more than its rate times its period', { amount_nanos: '-400000001' }],
    ['less than its rate times its period', { amount_nanos: '-399999999' }],
    ['an amount above zero', { amount_nanos: '400000000' }],
    ['an empty period', { period_end: 'm.since', amount_nanos: '0' }],
    // The amount is exact for this negative period: $0.4 an hour times -9 ms.
    ['a period that runs backward', { period_end: "m.since - interval '9 ms'", amount_nanos: '1000' }],
  ])('is refused with %s', async (_what, changed) => {
    await refused(charging(gpu, changed), 'ledger_entries_charges')
  })

  it.each(['period_start', 'period_end', 'rate_nanos', 'carried', 'meter_id'])(
    'is refused as a charge without %s',
    async column => {
      const lacking = { [column]: column.startsWith('period') ? 'NULL::timestamptz' : 'NULL' }
      await expect(app.sql(charging(disk, lacking))).rejects.toThrow()
    },
  )

  it.each([
    ['before', { period_start: "m.since - interval '1 hour'", period_end: 'm.since' }],
    ['after', { period_start: "m.since + interval '1 hour'", period_end: "m.since + interval '2 hours'" }],
  ])('is refused when its period begins %s the instant up to which its meter is charged', async (_where, changed) => {
    await refused(charging(disk, changed), 'the entry does not go on')
  })

  it('must match the account, kind, rate and carried parts of its meter', async () => {
    const goesOn = 'the entry does not go on'
    const more = (part: string) => `-div(${part}, 3600000)`
    await refused(charging(disk, { account_id: String(account + 1) }), goesOn)
    await refused(charging(foreign, { account_id: String(account) }), goesOn)
    await refused(charging(disk, { kind: "'gpu'" }), goesOn)
    const [amount_nanos, rate_nanos] = [more('(m.rate_nanos + 1) * 3600000::numeric + m.carried'), 'm.rate_nanos + 1']
    await refused(charging(disk, { rate_nanos, amount_nanos }), goesOn)
    const carried = { carried: 'm.carried + 1', amount_nanos: more('m.rate_nanos * 3600000::numeric + m.carried + 1') }
    await refused(charging(disk, carried), goesOn)
    await refused(charging(disk, { meter_id: '0' }), 'ledger_entries_meter_id_fkey')
  })

  it('is refused for an account that does not exist', async () => {
    await expect(app.sql(other('top_up', { amount_nanos: '1', account_id: '0' }))).rejects.toThrow()
  })

  it('must be above zero as a top-up, must not be zero as an adjustment, and must have no meter as either', async () => {
    await refused(other('top_up', { amount_nanos: '0' }), 'ledger_entries_top_ups')
    await refused(other('top_up', { amount_nanos: '-1' }), 'ledger_entries_top_ups')
    await refused(other('top_up', { amount_nanos: '1', meter_id: 'm.id' }), 'ledger_entries_top_ups')
    await refused(other('adjustment', { amount_nanos: '0' }), 'ledger_entries_adjustments')
    await refused(other('adjustment', { amount_nanos: '-1', meter_id: 'm.id' }), 'ledger_entries_adjustments')
  })

  it('cannot be changed, deleted or truncated', async () => {
    await refused('UPDATE ledger_entries SET note = NULL', 'update of ledger_entries is not possible')
    await refused(
      'UPDATE ledger_entries SET amount_nanos = amount_nanos + 1',
      'update of ledger_entries is not possible',
    )
    await refused('DELETE FROM ledger_entries', 'delete of ledger_entries is not possible')
    await refused('TRUNCATE ledger_entries', 'truncate of ledger_entries is not possible')
  })

  it('gets its balance from the database, even if the statement sets another', async () => {
    const claimed = other('top_up', { amount_nanos: '5' })
      .replace('posted_at)', 'posted_at, balance_after_nanos)')
      .replace('now()', 'now(), 7')
    const [before] = (await app.sql(`SELECT posted_nanos FROM accounts WHERE id = ${account}`)) as {
      posted_nanos: string
    }[]
    const balance = String(BigInt(before?.posted_nanos as string) + 5n)
    expect(await app.sql(`${claimed} RETURNING balance_after_nanos`)).toEqual([{ balance_after_nanos: balance }])
  })
})

describe('a statement with several entries', () => {
  /** One INSERT of what several SELECTs answer. */
  const together = (...inserts: string[]) => {
    const [first = '', ...rest] = inserts
    const selected = rest.map(insert => `(${insert.slice(insert.indexOf(' SELECT '))})`)
    return [`${first.replace(' SELECT ', ' (SELECT ')})`, ...selected].join(' UNION ALL ')
  }
  const topUp = (amount: number) => other('top_up', { amount_nanos: String(amount) })

  it('gives each entry the balance after it, and writes each account and meter once', async () => {
    const foreignAccount = await one(`SELECT account_id FROM meters WHERE id = ${foreign}`)
    const posted = async (id: number) => BigInt(await one(`SELECT posted_nanos FROM accounts WHERE id = ${id}`))
    const before = [await posted(account), await posted(foreignAccount)] as const
    const entries = together(charging(gpu), charging(foreign), topUp(5), charging(disk), topUp(7))
    const { rows, written } = await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      const { rows } = await session.query(`${entries} RETURNING account_id, amount_nanos, balance_after_nanos`)
      const { rows: written } = await session.query(`SELECT relname, n_tup_upd FROM pg_stat_xact_user_tables
        WHERE relname IN ('accounts', 'meters') ORDER BY relname`)
      await session.query('COMMIT')
      return { rows, written }
    })
    const balances = new Map([
      [account, before[0]],
      [foreignAccount, before[1]],
    ])
    expect(rows.map(row => row.amount_nanos)).toEqual(expect.arrayContaining(['-400000000', '5', '7']))
    for (const { account_id, amount_nanos, balance_after_nanos } of rows) {
      balances.set(account_id, (balances.get(account_id) as bigint) + BigInt(amount_nanos))
      expect(BigInt(balance_after_nanos)).toBe(balances.get(account_id))
    }
    expect(await posted(account)).toBe(balances.get(account))
    expect(await posted(foreignAccount)).toBe(balances.get(foreignAccount))
    expect(written).toEqual([
      { relname: 'accounts', n_tup_upd: '2' },
      { relname: 'meters', n_tup_upd: '3' },
    ])
  })

  it('is refused as a whole if one of its entries is', async () => {
    const stale = charging(disk, { period_start: "m.since - interval '1 hour'", period_end: 'm.since' })
    await refused(together(charging(gpu), topUp(5), stale), `the entry does not go on from where meter ${disk}`)
  })

  it('is refused if it charges a meter twice, even for one hour after the other', async () => {
    const next = { period_start: "m.since + interval '1 hour'", period_end: "m.since + interval '2 hours'" }
    const goesOn = `the entry does not go on from where meter ${gpu}`
    await refused(together(charging(gpu), charging(gpu)), goesOn)
    await refused(together(charging(gpu), charging(gpu, next)), goesOn)
  })

  it('refunds a meter at most its total charge, and only to its account', async () => {
    await app.sql(charging(gpu))
    const none = { kind: "'refund'::ledger_kind", rate_nanos: 'NULL::bigint', carried: 'NULL::int' }
    const refund = (minutes: number, changed: Record<string, string>) =>
      charging(gpu, { ...none, period_end: `m.since + interval '${minutes} min'`, ...changed })
    const goesOn = `the entry does not go on from where meter ${gpu}`
    const half = { amount_nanos: 'm.charged_nanos / 2 + 1' }
    await refused(together(refund(1, half), refund(2, half)), goesOn)
    const toAnother = { amount_nanos: '1', account_id: String(account + 1) }
    await refused(together(refund(1, { amount_nanos: '1' }), refund(2, toAnother)), goesOn)
    const charged = await one(`SELECT charged_nanos FROM meters WHERE id = ${gpu}`)
    await app.sql(together(refund(1, { amount_nanos: '1' }), refund(2, { amount_nanos: '2' })))
    expect(await one(`SELECT charged_nanos FROM meters WHERE id = ${gpu}`)).toBe(charged - 3)
  })

  it('is refused if a later entry was posted before it got the lock of the account', async () => {
    const late = `INSERT INTO ledger_entries (id, account_id, kind, amount_nanos, posted_at)
      VALUES (nextval('ledger_entries_id_seq') + 1, ${account}, 'top_up', 1, now())`
    await app.sql(late)
    await expect(app.sql(topUp(2))).rejects.toMatchObject({ code: '40001' })
    await app.sql(topUp(3))
  })

  it('is refused if the balance of its account is not that of its last entry', async () => {
    await withSession(app.database.url, async session => {
      await session.query(`BEGIN; SET LOCAL session_replication_role = replica;
        UPDATE accounts SET posted_nanos = posted_nanos + 1 WHERE id = ${account};
        SET LOCAL session_replication_role = origin`)
      await expect(session.query(topUp(1))).rejects.toThrow(
        `the entries do not go on from the balance of account ${account}`,
      )
    })
  })

  it('goes on from balances that a migration wrote in the order of the ids', async () => {
    await app.sql(topUp(1))
    await app.sql(`SET session_replication_role = replica;
      UPDATE ledger_entries SET balance_after_nanos = balance_after_nanos + 1
      WHERE id IN (SELECT id FROM ledger_entries WHERE account_id = ${account} ORDER BY id DESC LIMIT 2);
      SET session_replication_role = origin`)
    await refused(topUp(1), 'the entries do not go on')
    const migration = '../../../prisma/migrations/20261124010100_ledger_in_order/migration.sql'
    await app.sql(await readFile(new URL(migration, import.meta.url), 'utf8'))
    expect(await brokenLaws(app.sql)).toEqual([])
    await app.sql(topUp(1))
    await refused('UPDATE ledger_entries SET note = NULL', 'update of ledger_entries is not possible')
  })

  it('waits for another transaction that posts to the account', async () => {
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query(topUp(100))
      const waiting = app.sql(together(topUp(10), topUp(20)))
      await waitUntilBlocksOthers(session)
      await session.query('COMMIT')
      await waiting
    })
    const [balances] = (await app.sql(`SELECT posted_nanos, ARRAY(
      SELECT posted_nanos - balance_after_nanos FROM ledger_entries WHERE account_id = ${account} ORDER BY id DESC LIMIT 3
    ) AS behind FROM accounts WHERE id = ${account}`)) as { behind: string[] }[]
    expect(balances?.behind).toEqual(['0', '20', '30'])
  })
})

describe('a refund', () => {
  const about = { meter_id: 'm.id', period_start: 'm.since', period_end: "m.since + interval '1 hour'" }
  const refund = (meter: number, changed: Record<string, string>) =>
    charging(meter, { kind: "'refund'", rate_nanos: 'NULL', carried: 'NULL', ...about, ...changed })

  it('belongs to a meter of its account and is at most the total charge of the meter', async () => {
    const goesOn = 'the entry does not go on'
    await app.sql(charging(gpu))
    await refused(refund(gpu, { amount_nanos: 'm.charged_nanos + 1' }), goesOn)
    await refused(refund(gpu, { amount_nanos: '1', account_id: String(account + 1) }), goesOn)
    await refused(refund(gpu, { amount_nanos: '0' }), 'ledger_entries_refunds')
    await refused(refund(gpu, { amount_nanos: '-1' }), 'ledger_entries_refunds')
    for (const column of ['period_start', 'period_end']) {
      await refused(refund(gpu, { amount_nanos: '1', [column]: 'NULL::timestamptz' }), 'ledger_entries_refunds')
    }
    await refused(refund(gpu, { amount_nanos: '1', period_end: 'm.since' }), 'ledger_entries_refunds')
    await refused(refund(gpu, { amount_nanos: '1', meter_id: 'NULL' }), '')
  })

  it('is refused if the same period of its meter was refunded before', async () => {
    await app.sql(charging(gpu))
    const charged = await one(`SELECT charged_nanos FROM meters WHERE id = ${gpu}`)
    await app.sql(refund(gpu, { amount_nanos: '100' }))
    expect(await one(`SELECT charged_nanos FROM meters WHERE id = ${gpu}`)).toBe(charged - 100)
    await refused(refund(gpu, { amount_nanos: '100' }), 'ledger_entries_one_refund')
  })
})

describe('a meter', () => {
  const inserted = (values: string) =>
    `INSERT INTO meters (account_id, instance_id, volume_id, kind, rate_nanos, since, carried) VALUES (${account}, ${values})`

  it('belongs to one instance or volume, and is its only meter of that kind', async () => {
    await refused(inserted(`NULL, NULL, 'disk', 1, now(), 0`), 'meters_are_of_one_thing')
    await refused(inserted(`${instance}, ${volume}, 'disk', 1, now(), 0`), 'meters_are_of_one_thing')
    await refused(inserted(`NULL, ${volume}, 'gpu', 1, now(), 0`), 'meters_of_volumes')
    await refused(inserted(`${instance}, NULL, 'gpu', 1, now(), 0`), 'meters_instance_id_kind_key')
    await app.sql(inserted(`NULL, ${volume}, 'disk', 1, now(), 0`))
    await refused(inserted(`NULL, ${volume}, 'disk', 1, now(), 0`), 'meters_volume_id_kind_key')
  })

  it('has a rate of at least zero and carries less than a nano-dollar', async () => {
    await refused(`UPDATE meters SET rate_nanos = -1 WHERE id = ${disk}`, 'meters_rates')
    for (const carried of [-1, 3_600_000]) {
      await refused(inserted(`${instance}, NULL, 'gpu', 1, now(), ${carried}`), 'meters_carry_parts')
    }
  })

  it('cannot be deleted, reassigned or advanced without a charge', async () => {
    await refused('DELETE FROM meters', 'delete of meters is not possible')
    await refused('TRUNCATE meters CASCADE', 'is not possible')
    const moved = 'update of meters is not possible'
    const changes = [
      'charged_nanos = charged_nanos + 1',
      'carried = (carried + 1) % 3600000',
      `account_id = account_id + 1`,
      "kind = CASE kind WHEN 'disk' THEN 'gpu'::charge_kind ELSE 'disk' END",
      "since = since - interval '1 ms'",
      "since = since + interval '1 ms'",
      'id = id + 1000',
      `instance_id = NULL, volume_id = ${volume}`,
      `instance_id = instance_id + 1`,
      'api_key_id = NULL',
    ]
    for (const change of changes) await refused(`UPDATE meters SET ${change} WHERE id = ${disk}`, moved)
    await refused(`UPDATE meters SET volume_id = volume_id + 1 WHERE volume_id = ${volume}`, moved)
  })

  it('writes its account only when its cost changes', async () => {
    const versions = async () => await one(`SELECT xmin FROM accounts WHERE id = ${account}`)
    const before = await versions()
    await app.sql(`UPDATE meters SET ends_at = now() + interval '1 year', stop_reason = NULL WHERE id = ${disk}`)
    expect(await versions()).toBe(before)
    await app.sql(`UPDATE meters SET rate_nanos = rate_nanos + 1 WHERE id = ${disk}`)
    expect(await versions()).not.toBe(before)
  })

  it('can move its start to a later instant while its rate is zero, but never to an earlier one', async () => {
    await app.sql(`UPDATE meters SET rate_nanos = 0 WHERE id = ${foreign}`)
    await refused(`UPDATE meters SET since = since - interval '1 ms' WHERE id = ${foreign}`, 'is not possible')
    await app.sql(`UPDATE meters SET rate_nanos = 5, since = since + interval '1 ms' WHERE id = ${foreign}`)
  })
})

describe('the balance of an account', () => {
  const sums = {
    posted_nanos: '1',
    gpu_rate_nanos: '1',
    gpu_origin: '1',
    disk_rate_nanos: '1',
    disk_origin: '1',
    metered_at: "interval '1 ms'",
  }

  it.each(Object.entries(sums))('changes only through its ledger and meters: %s', async (column, one) => {
    const change = `UPDATE accounts SET ${column} = ${column} + ${one} WHERE id = ${account}`
    await refused(change, 'update of accounts is not possible')
  })

  it.each(['posted_nanos', 'gpu_rate_nanos', 'gpu_origin', 'disk_rate_nanos', 'disk_origin'])(
    'is zero in a new account: %s',
    async column => {
      const insert = `INSERT INTO accounts (email, ${column}) VALUES ('new@example.com', 1)`
      await refused(insert, 'insert of accounts is not possible')
    },
  )

  it('is consistent after all these statements', async () => {
    expect(await brokenLaws(app.sql)).toEqual([])
  })
})

describe('a limit in the database', () => {
  const limit = (key: string, amount: number) => `
    INSERT INTO spend_limits (account_id, api_key_id, "window", amount_nanos, action, created_at, updated_at)
    VALUES (${account}, ${key}, 'day', ${amount}, 'notify', now(), now())`

  it('is unique for each window of an account or of an API key, and is not below zero', async () => {
    const key = `(SELECT min(id) FROM api_keys WHERE account_id = ${account})`
    for (const whose of ['NULL', key]) {
      await app.sql(limit(whose, 0))
      await refused(limit(whose, 1), 'spend_limits_one_of_a_kind')
    }
    await refused(limit('NULL', -1), 'spend_limits_amount')
  })

  it('is above zero for the cost of an instance and for the time that it stays stopped', async () => {
    for (const column of ['stop_at_cost_nanos', 'destroy_stopped_ms']) {
      await refused(`UPDATE instances SET ${column} = 0 WHERE id = ${instance}`, 'instances_arrangements')
    }
  })
})
