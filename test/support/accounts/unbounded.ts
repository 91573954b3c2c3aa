import { creditSql } from '../billing/credit-sql.ts'

/**
 * Lets one account rent as much as many accounts would: with much credit, without quotas, and without a wait after failed
 * starts.
 */
export function unboundedSql(accountId: number): string {
  return `${creditSql(100_000_000_000_000_000n, `id = ${accountId}`)}; ${withoutQuotasSql(accountId)}`
}

/** Like `unboundedSql`, but leaves the credit as it is. */
export function withoutQuotasSql(accountId: number): string {
  return `
    UPDATE accounts SET max_instances = 1000000000, max_loading = 1000000000, max_disk_gb = 1000000000,
      max_volumes = 1000000000 WHERE id = ${accountId};
    CREATE OR REPLACE FUNCTION forget_failed_starts() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.start_failures := 0;
      NEW.start_failed_at := NULL;
      RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER forget_failed_starts BEFORE UPDATE OF start_failures ON accounts FOR EACH ROW
      WHEN (NEW.max_loading = 1000000000) EXECUTE FUNCTION forget_failed_starts()`
}
