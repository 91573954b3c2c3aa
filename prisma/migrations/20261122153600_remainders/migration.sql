-- Written by hand: what the schema language cannot say.

-- A meter that costs nothing takes nothing from its account: what it carries counts again when it runs again, and is the
-- renter's if it never does. So an account in which nothing runs has what its ledger says, to the nano-dollar.
CREATE OR REPLACE FUNCTION "accounts_add"("added" "meters"[], "removed" "meters"[]) RETURNS void LANGUAGE sql AS $$
  UPDATE accounts SET compute_rate_nanos = compute_rate_nanos + compute_rate, compute_origin = compute_origin + compute_start,
    disk_rate_nanos = disk_rate_nanos + disk_rate, disk_origin = disk_origin + disk_start,
    metered_at = greatest(metered_at, latest)
  FROM (
    SELECT account_id, max(since) AS latest,
      coalesce(sum(rate) FILTER (WHERE kind = 'compute'), 0) AS compute_rate,
      coalesce(sum(start) FILTER (WHERE kind = 'compute'), 0) AS compute_start,
      coalesce(sum(rate) FILTER (WHERE kind = 'disk'), 0) AS disk_rate,
      coalesce(sum(start) FILTER (WHERE kind = 'disk'), 0) AS disk_start
    FROM (SELECT 1 AS sign, m.* FROM unnest(added) m UNION ALL SELECT -1, m.* FROM unnest(removed) m) AS meter
    CROSS JOIN LATERAL (SELECT sign * rate_nanos AS rate,
      CASE WHEN rate_nanos > 0 THEN sign * (rate_nanos * extract(epoch FROM since) * 1000 - carried) ELSE 0 END AS start) AS part
    GROUP BY account_id
  ) AS changed WHERE accounts.id = changed.account_id
$$;

-- Accounts get back what ended meters of theirs carry.
ALTER TABLE "accounts" DISABLE TRIGGER "accounts_are_charged_by_the_ledger";
UPDATE "accounts" SET "compute_origin" = "compute_origin" + "compute", "disk_origin" = "disk_origin" + "disk"
FROM (
  SELECT "account_id", coalesce(sum("carried") FILTER (WHERE "kind" = 'compute'), 0) AS "compute",
    coalesce(sum("carried") FILTER (WHERE "kind" = 'disk'), 0) AS "disk"
  FROM "meters" WHERE "rate_nanos" = 0 AND "carried" > 0 GROUP BY "account_id"
) AS "ended" WHERE "id" = "account_id";
ALTER TABLE "accounts" ENABLE TRIGGER "accounts_are_charged_by_the_ledger";
