// The ledger of a renter, compared with the tab: each meter has only prices that were quoted, for the time that was quoted.

import { expect } from 'vitest'
import type { TestApp } from '../../app.ts'
import type { Tab } from './tab.ts'

const partsPerNano = 3_600_000n

type MeterRow = { item: string; kind: 'gpu' | 'disk'; charged: string; rates: string[] | null; rate: string }

export async function checkEntries(app: TestApp, accountId: number, tab: Tab): Promise<void> {
  const meters = (await app.sql(`
    SELECT coalesce('ins_' || m.instance_id, 'vol_' || m.volume_id) AS item, m.kind, m.rate_nanos::text AS rate,
      coalesce(-sum(e.amount_nanos), 0)::text AS charged,
      array_agg(DISTINCT e.rate_nanos::text) FILTER (WHERE e.kind IN ('gpu', 'disk')) AS rates
    FROM meters m LEFT JOIN ledger_entries e ON e.meter_id = m.id
    WHERE m.account_id = ${accountId} GROUP BY m.id`)) as MeterRow[]
  for (const { item, kind, charged, rates, rate } of meters) {
    expect(rate, `${kind} of ${item} costs something after its end`).toBe('0')
    const one = tab.find(item)
    // An instance that was replaced before the renter saw it.
    if (!one) {
      expect(charged, `${kind} of ${item}`).toBe('0')
      continue
    }
    const quoted = kind === 'disk' ? [one.diskNanos] : [...one.gpuPrices]
    for (const charge of rates ?? []) expect(quoted, `prices of the ${kind} of ${item}`).toContain(BigInt(charge))
    const parts = BigInt(charged) * partsPerNano
    const { most, least, isCertain } = one[kind]
    expect(parts, `charges of the ${kind} of ${item}`).toBeLessThanOrEqual(most)
    if (isCertain) expect(parts + partsPerNano, `charges of the ${kind} of ${item}`).toBeGreaterThan(least)
  }
}
