-- The words of the GraphQL schema: GPU where it was compute, and units in the names.

ALTER TYPE "charge_kind" RENAME VALUE 'compute' TO 'gpu';
ALTER TYPE "ledger_kind" RENAME VALUE 'compute' TO 'gpu';

ALTER TABLE "accounts" RENAME COLUMN "compute_rate_nanos" TO "gpu_rate_nanos";
ALTER TABLE "accounts" RENAME COLUMN "compute_origin" TO "gpu_origin";
ALTER TABLE "gpu_models" RENAME COLUMN "memory_bandwidth_gbps" TO "memory_bandwidth_gigabytes_per_second";
ALTER TABLE "machines" RENAME COLUMN "disk_mbps" TO "disk_read_megabytes_per_second";
ALTER TABLE "machines" RENAME COLUMN "pcie_gbps" TO "pcie_gigabytes_per_second";
ALTER TABLE "machines" RENAME COLUMN "nvlink_gbps" TO "nvlink_gigabytes_per_second";
ALTER TABLE "machines" RENAME COLUMN "storage_nanos" TO "disk_price_per_gb_month_nanos";
ALTER TABLE "machines" RENAME COLUMN "download_nanos" TO "download_price_per_gb_nanos";
ALTER TABLE "machines" RENAME COLUMN "upload_nanos" TO "upload_price_per_gb_nanos";
ALTER INDEX "machines_storage_nanos_idx" RENAME TO "machines_disk_price_per_gb_month_nanos_idx";
ALTER TABLE "offers" RENAME COLUMN "storage_nanos" TO "disk_price_per_gb_month_nanos";
ALTER TABLE "offers" RENAME COLUMN "compute_nanos" TO "gpu_price_nanos";
ALTER TABLE "instances" RENAME COLUMN "compute_nanos" TO "gpu_price_nanos";
ALTER TABLE "instances" RENAME COLUMN "storage_nanos" TO "disk_price_per_gb_month_nanos";
ALTER TABLE "volumes" RENAME COLUMN "storage_nanos" TO "disk_price_per_gb_month_nanos";

-- The text of these functions names what was renamed.
CREATE OR REPLACE FUNCTION "accounts_add"("added" "meters"[], "removed" "meters"[]) RETURNS void LANGUAGE sql AS $$
  UPDATE accounts SET gpu_rate_nanos = gpu_rate_nanos + gpu_rate, gpu_origin = gpu_origin + gpu_start,
    disk_rate_nanos = disk_rate_nanos + disk_rate, disk_origin = disk_origin + disk_start,
    metered_at = greatest(metered_at, latest)
  FROM (
    SELECT account_id, max(since) AS latest,
      coalesce(sum(rate) FILTER (WHERE kind = 'gpu'), 0) AS gpu_rate,
      coalesce(sum(start) FILTER (WHERE kind = 'gpu'), 0) AS gpu_start,
      coalesce(sum(rate) FILTER (WHERE kind = 'disk'), 0) AS disk_rate,
      coalesce(sum(start) FILTER (WHERE kind = 'disk'), 0) AS disk_start
    FROM (SELECT 1 AS sign, m.* FROM unnest(added) m UNION ALL SELECT -1, m.* FROM unnest(removed) m) AS meter
    CROSS JOIN LATERAL (SELECT sign * rate_nanos AS rate,
      CASE WHEN rate_nanos > 0 THEN sign * (rate_nanos * extract(epoch FROM since) * 1000 - carried) ELSE 0 END AS start) AS part
    GROUP BY account_id
  ) AS changed WHERE accounts.id = changed.account_id
$$;
CREATE OR REPLACE FUNCTION "ledger_entries_count"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET posted_nanos = posted_nanos + NEW.amount_nanos WHERE id = NEW.account_id
    RETURNING posted_nanos INTO STRICT NEW.balance_after_nanos;
  IF NEW.kind IN ('gpu', 'disk') THEN
    UPDATE meters SET since = NEW.period_end, charged_nanos = charged_nanos - NEW.amount_nanos,
      carried = mod(rate_nanos * extract(epoch FROM NEW.period_end - since) * 1000 + carried, 3600000)
    WHERE id = NEW.meter_id AND account_id = NEW.account_id AND kind::text = NEW.kind::text
    AND since = NEW.period_start AND rate_nanos = NEW.rate_nanos AND carried = NEW.carried;
  ELSIF NEW.kind = 'refund' THEN
    UPDATE meters SET charged_nanos = charged_nanos - NEW.amount_nanos
    WHERE id = NEW.meter_id AND account_id = NEW.account_id AND charged_nanos >= NEW.amount_nanos;
  ELSE
    RETURN NEW;
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the entry does not go on from where meter % is', NEW.meter_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

-- The kinds of events, and the names in what they recorded.
UPDATE "events" SET "type" = "new" FROM (VALUES
  ('SSH_KEY_REGISTERED', 'SSH_KEY_CREATED'), ('SSH_KEY_REPLACED', 'SSH_KEY_UPDATED'), ('API_KEY_REVOKED', 'API_KEY_DELETED'),
  ('API_KEY_RESET', 'API_KEY_SECRET_ROTATED'), ('SECRET_VARIABLE_SET', 'SECRET_VARIABLE_UPDATED')
) AS "renamed"("old", "new") WHERE "type" = "old";
UPDATE "webhooks" SET "types" = array_replace(array_replace(array_replace(array_replace(array_replace("types",
  'SSH_KEY_REGISTERED', 'SSH_KEY_CREATED'), 'SSH_KEY_REPLACED', 'SSH_KEY_UPDATED'), 'API_KEY_REVOKED', 'API_KEY_DELETED'),
  'API_KEY_RESET', 'API_KEY_SECRET_ROTATED'), 'SECRET_VARIABLE_SET', 'SECRET_VARIABLE_UPDATED');
UPDATE "events" SET
  "before" = replace(replace(replace("before"::text, '"computeNanos":', '"gpuPriceNanos":'), '"burnNanos":', '"costPerHourNanos":'),
    '"destroyWhenStoppedFor":', '"destroyAfterStoppedSeconds":')::jsonb,
  "after" = replace(replace(replace("after"::text, '"computeNanos":', '"gpuPriceNanos":'), '"burnNanos":', '"costPerHourNanos":'),
    '"destroyWhenStoppedFor":', '"destroyAfterStoppedSeconds":')::jsonb
WHERE concat("before", "after") ~ '"(computeNanos|burnNanos|destroyWhenStoppedFor)":';
