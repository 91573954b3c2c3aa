/** Rules that all money satisfies at every instant. Each query finds the rows that break one rule. */
const laws: Record<string, string> = {
  'the balance of an account is the sum of its ledger': `
    SELECT a.id FROM accounts a
    WHERE posted_nanos <> (SELECT coalesce(sum(amount_nanos), 0) FROM ledger_entries WHERE account_id = a.id)`,
  'every entry has the balance after it': `
    SELECT id FROM (
      SELECT id, balance_after_nanos, sum(amount_nanos) OVER (PARTITION BY account_id ORDER BY id) AS total
      FROM ledger_entries
    ) l WHERE balance_after_nanos <> total`,
  'the rates and origins of an account are the sums of its meters': `
    SELECT a.id FROM accounts a LEFT JOIN LATERAL (
      SELECT coalesce(sum(rate_nanos) FILTER (WHERE kind = 'gpu'), 0) AS gpu_rate,
        coalesce(sum(rate_nanos) FILTER (WHERE kind = 'disk'), 0) AS disk_rate,
        coalesce(sum(origin) FILTER (WHERE kind = 'gpu'), 0) AS gpu,
        coalesce(sum(origin) FILTER (WHERE kind = 'disk'), 0) AS disk, max(since) AS latest
      FROM (
        SELECT *, CASE WHEN rate_nanos > 0 THEN rate_nanos * extract(epoch FROM since) * 1000 - carried ELSE 0 END AS origin
        FROM meters
      ) m WHERE m.account_id = a.id
    ) m ON true
    WHERE (a.gpu_rate_nanos, a.disk_rate_nanos, a.gpu_origin, a.disk_origin)
      IS DISTINCT FROM (m.gpu_rate, m.disk_rate, m.gpu, m.disk) OR a.metered_at < m.latest`,
  'an account without running meters has no origins': `
    SELECT id FROM accounts WHERE (gpu_rate_nanos, disk_rate_nanos) = (0, 0) AND (gpu_origin, disk_origin) <> (0, 0)`,
  'the charges of a meter are those of its ledger entries': `
    SELECT m.id FROM meters m
    WHERE charged_nanos <> (SELECT -coalesce(sum(amount_nanos), 0) FROM ledger_entries WHERE meter_id = m.id)`,
  // Compares each charge with the latest end before it. A join of all pairs is slow in a table without statistics.
  'no instant is charged twice': `
    SELECT id FROM (
      SELECT id, period_start, max(period_end) OVER (
        PARTITION BY meter_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS charged_until
      FROM ledger_entries WHERE kind IN ('gpu', 'disk')
    ) charges WHERE period_start < charged_until`,
  // The same for each GPU, in the order in which the charges begin.
  'no GPU is charged to two instances at one instant': `
    SELECT id FROM (
      SELECT e.id, e.period_start, max(e.period_end) OVER (
        PARTITION BY i.machine_id, gpu ORDER BY e.period_start, e.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS charged_until
      FROM ledger_entries e JOIN meters m ON m.id = e.meter_id JOIN instances i ON i.id = m.instance_id
      CROSS JOIN generate_series(i.first_gpu, i.first_gpu + i.num_gpus - 1) AS gpu
      WHERE e.kind = 'gpu' AND e.period_start < e.period_end
    ) charges WHERE period_start < charged_until`,
  'no part of a nano-dollar is lost': `
    SELECT l.meter_id FROM (
      SELECT meter_id, carried, kind, mod(rate_nanos * extract(epoch FROM period_end - period_start) * 1000 + carried, 3600000) AS rest,
        lead(carried) OVER (PARTITION BY meter_id ORDER BY id) AS next
      FROM ledger_entries WHERE kind IN ('gpu', 'disk')
    ) l JOIN meters m ON m.id = l.meter_id WHERE rest <> coalesce(l.next, m.carried)`,
}

/** Names of the broken rules, with some of the rows that break them. */
export async function brokenLaws(ask: (query: string) => Promise<unknown[]>): Promise<string[]> {
  const broken: string[] = []
  for (const [name, query] of Object.entries(laws)) {
    const rows = await ask(`${query} LIMIT 5`)
    if (rows.length > 0) broken.push(`${name}: ${JSON.stringify(rows)}`)
  }
  return broken
}
