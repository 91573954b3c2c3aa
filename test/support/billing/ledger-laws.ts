/** What must be so of all money at every instant. Each finds those of which it is not so. */
const laws: Record<string, string> = {
  'an account has the sum of its ledger': `
    SELECT a.id FROM accounts a
    WHERE posted_nanos <> (SELECT coalesce(sum(amount_nanos), 0) FROM ledger_entries WHERE account_id = a.id)`,
  'every entry says what there was after it': `
    SELECT id FROM (
      SELECT id, balance_after_nanos, sum(amount_nanos) OVER (PARTITION BY account_id ORDER BY id) AS total
      FROM ledger_entries
    ) l WHERE balance_after_nanos <> total`,
  'what an account has is what its meters come to': `
    SELECT a.id FROM accounts a LEFT JOIN LATERAL (
      SELECT coalesce(sum(rate_nanos) FILTER (WHERE kind = 'compute'), 0) AS compute_rate,
        coalesce(sum(rate_nanos) FILTER (WHERE kind = 'disk'), 0) AS disk_rate,
        coalesce(sum(origin) FILTER (WHERE kind = 'compute'), 0) AS compute,
        coalesce(sum(origin) FILTER (WHERE kind = 'disk'), 0) AS disk, max(since) AS latest
      FROM (
        SELECT *, CASE WHEN rate_nanos > 0 THEN rate_nanos * extract(epoch FROM since) * 1000 - carried ELSE 0 END AS origin
        FROM meters
      ) m WHERE m.account_id = a.id
    ) m ON true
    WHERE (a.compute_rate_nanos, a.disk_rate_nanos, a.compute_origin, a.disk_origin)
      IS DISTINCT FROM (m.compute_rate, m.disk_rate, m.compute, m.disk) OR a.metered_at < m.latest`,
  'an account in which nothing runs has what its ledger says': `
    SELECT id FROM accounts WHERE (compute_rate_nanos, disk_rate_nanos) = (0, 0) AND (compute_origin, disk_origin) <> (0, 0)`,
  'a meter has cost what the ledger says': `
    SELECT m.id FROM meters m
    WHERE charged_nanos <> (SELECT -coalesce(sum(amount_nanos), 0) FROM ledger_entries WHERE meter_id = m.id)`,
  'no instant is charged twice': `
    SELECT a.id FROM ledger_entries a JOIN ledger_entries b ON b.meter_id = a.meter_id AND b.id > a.id
    WHERE a.kind IN ('compute', 'disk') AND b.kind IN ('compute', 'disk') AND b.period_start < a.period_end`,
  'no GPU is charged to two instances at one instant': `
    WITH charges AS (
      SELECT e.id, e.meter_id, e.period_start, e.period_end, i.machine_id, i.first_gpu, i.first_gpu + i.num_gpus AS end_gpu
      FROM ledger_entries e JOIN meters m ON m.id = e.meter_id JOIN instances i ON i.id = m.instance_id
      WHERE e.kind = 'compute' AND e.period_start < e.period_end
    ) SELECT a.id, b.id AS other FROM charges a JOIN charges b ON a.machine_id = b.machine_id AND a.meter_id < b.meter_id
    WHERE a.first_gpu < b.end_gpu AND b.first_gpu < a.end_gpu
    AND a.period_start < b.period_end AND b.period_start < a.period_end`,
  'no part of a nano-dollar is lost': `
    SELECT l.meter_id FROM (
      SELECT meter_id, carried, kind, mod(rate_nanos * extract(epoch FROM period_end - period_start) * 1000 + carried, 3600000) AS rest,
        lead(carried) OVER (PARTITION BY meter_id ORDER BY id) AS next
      FROM ledger_entries WHERE kind IN ('compute', 'disk')
    ) l JOIN meters m ON m.id = l.meter_id WHERE rest <> coalesce(l.next, m.carried)`,
}

/** Names of the laws that are broken, with some of those that break them. */
export async function brokenLaws(ask: (query: string) => Promise<unknown[]>): Promise<string[]> {
  const broken: string[] = []
  for (const [name, query] of Object.entries(laws)) {
    const rows = await ask(`${query} LIMIT 5`)
    if (rows.length > 0) broken.push(`${name}: ${JSON.stringify(rows)}`)
  }
  return broken
}
