/** Sets the credit of accounts that match a condition on `accounts`. */
export function creditSql(nanos: bigint, condition: string): string {
  return `INSERT INTO ledger_entries (account_id, kind, amount_nanos, note, posted_at)
    SELECT id, 'adjustment', ${nanos} - posted_nanos, 'a test', now() FROM accounts
    WHERE posted_nanos <> ${nanos} AND ${condition}`
}
