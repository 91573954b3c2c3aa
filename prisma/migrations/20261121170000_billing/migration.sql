-- CreateEnum
CREATE TYPE "charge_kind" AS ENUM ('compute', 'disk');

-- CreateEnum
CREATE TYPE "ledger_kind" AS ENUM ('compute', 'disk', 'top_up', 'refund', 'adjustment');

-- CreateEnum
CREATE TYPE "spend_window" AS ENUM ('hour', 'day', 'month');

-- CreateEnum
CREATE TYPE "spend_action" AS ENUM ('block_new', 'stop_running', 'notify');

-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "billing_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "billing_leased_until" TIMESTAMPTZ(3),
ADD COLUMN     "compute_origin" DECIMAL(40,0) NOT NULL DEFAULT 0,
ADD COLUMN     "compute_rate_nanos" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "credit_ended_at" TIMESTAMPTZ(3),
ADD COLUMN     "debt_since" TIMESTAMPTZ(3),
ADD COLUMN     "debt_warned_at" TIMESTAMPTZ(3),
ADD COLUMN     "disk_origin" DECIMAL(40,0) NOT NULL DEFAULT 0,
ADD COLUMN     "disk_rate_nanos" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "low_credit_hours" INTEGER,
ADD COLUMN     "metered_at" TIMESTAMPTZ(3) NOT NULL DEFAULT '1970-01-01 00:00:00 +00:00';

-- AlterTable
ALTER TABLE "instances" ADD COLUMN     "destroy_at" TIMESTAMPTZ(3),
ADD COLUMN     "destroy_stopped_ms" BIGINT,
ADD COLUMN     "stop_at" TIMESTAMPTZ(3),
ADD COLUMN     "stop_at_cost_nanos" BIGINT,
ADD COLUMN     "target_reason" TEXT;

-- CreateTable
CREATE TABLE "meters" (
    "id" BIGSERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "api_key_id" INTEGER,
    "instance_id" BIGINT,
    "volume_id" BIGINT,
    "kind" "charge_kind" NOT NULL,
    "rate_nanos" BIGINT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "carried" INTEGER NOT NULL DEFAULT 0,
    "charged_nanos" BIGINT NOT NULL DEFAULT 0,
    "ends_at" TIMESTAMPTZ(3),

    CONSTRAINT "meters_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "meter_ends" (
    "id" BIGSERIAL NOT NULL,
    "meter_id" BIGINT NOT NULL,
    "account_id" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "meter_ends_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ledger_entries" (
    "id" BIGSERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "kind" "ledger_kind" NOT NULL,
    "amount_nanos" BIGINT NOT NULL,
    "balance_after_nanos" BIGINT NOT NULL DEFAULT 0,
    "meter_id" BIGINT,
    "period_start" TIMESTAMPTZ(3),
    "period_end" TIMESTAMPTZ(3),
    "rate_nanos" BIGINT,
    "carried" INTEGER,
    "reason" TEXT,
    "idempotency_key" TEXT,
    "posted_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "spend_limits" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "api_key_id" INTEGER,
    "window" "spend_window" NOT NULL,
    "amount_nanos" BIGINT NOT NULL,
    "action" "spend_action" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "reached_at" TIMESTAMPTZ(3),

    CONSTRAINT "spend_limits_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "meters_account_id_idx" ON "meters"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "meters_instance_id_kind_key" ON "meters"("instance_id", "kind");

-- CreateIndex
CREATE UNIQUE INDEX "meters_volume_id_kind_key" ON "meters"("volume_id", "kind");

-- CreateIndex
CREATE INDEX "meter_ends_meter_id_idx" ON "meter_ends"("meter_id");

-- CreateIndex
CREATE INDEX "meter_ends_account_id_idx" ON "meter_ends"("account_id");

-- CreateIndex
CREATE INDEX "ledger_entries_account_id_id_idx" ON "ledger_entries"("account_id", "id");

-- CreateIndex
CREATE INDEX "ledger_entries_meter_id_period_end_idx" ON "ledger_entries"("meter_id", "period_end");

-- CreateIndex
CREATE UNIQUE INDEX "ledger_entries_account_id_idempotency_key_key" ON "ledger_entries"("account_id", "idempotency_key");

-- AddForeignKey
ALTER TABLE "meters" ADD CONSTRAINT "meters_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "meters" ADD CONSTRAINT "meters_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "meters" ADD CONSTRAINT "meters_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "meters" ADD CONSTRAINT "meters_volume_id_fkey" FOREIGN KEY ("volume_id") REFERENCES "volumes"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "meter_ends" ADD CONSTRAINT "meter_ends_meter_id_fkey" FOREIGN KEY ("meter_id") REFERENCES "meters"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_meter_id_fkey" FOREIGN KEY ("meter_id") REFERENCES "meters"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "spend_limits" ADD CONSTRAINT "spend_limits_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "spend_limits" ADD CONSTRAINT "spend_limits_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the schema language cannot say.

ALTER TABLE "meters"
  ADD CONSTRAINT "meters_are_of_one_thing" CHECK (num_nonnulls("instance_id", "volume_id") = 1),
  ADD CONSTRAINT "meters_of_volumes" CHECK ("volume_id" IS NULL OR "kind" = 'disk'),
  ADD CONSTRAINT "meters_rates" CHECK ("rate_nanos" >= 0),
  ADD CONSTRAINT "meters_carry_parts" CHECK ("carried" BETWEEN 0 AND 3599999);
-- One day's charges are found without asking what costs nothing.
CREATE INDEX "meters_running" ON "meters" ("account_id", "since") WHERE "rate_nanos" > 0;
-- What should have ended by now is found without asking what goes on.
CREATE INDEX "meters_ending" ON "meters" ("account_id", "ends_at") WHERE "rate_nanos" > 0 AND "kind" = 'compute';
CREATE INDEX "accounts_billing_due" ON "accounts" ("billing_due_at") WHERE "billing_due_at" IS NOT NULL;
CREATE UNIQUE INDEX "spend_limits_one_of_a_kind" ON "spend_limits" ("account_id", coalesce("api_key_id", 0), "window");
ALTER TABLE "spend_limits" ADD CONSTRAINT "spend_limits_amount" CHECK ("amount_nanos" >= 0);
ALTER TABLE "instances" ADD CONSTRAINT "instances_arrangements"
  CHECK ("stop_at_cost_nanos" > 0 AND "destroy_stopped_ms" > 0);

-- Every charge is its rate times its period, to the nano-dollar: what does not make a whole one is carried on.
ALTER TABLE "ledger_entries"
  ADD CONSTRAINT "ledger_entries_charges" CHECK ("kind" NOT IN ('compute', 'disk') OR (
    num_nulls("meter_id", "period_start", "period_end", "rate_nanos", "carried") = 0 AND "period_start" < "period_end"
    AND "amount_nanos" = -div(
      "rate_nanos" * extract(epoch FROM "period_end" - "period_start") * 1000 + "carried", 3600000))),
  ADD CONSTRAINT "ledger_entries_refunds" CHECK ("kind" <> 'refund' OR (
    num_nulls("meter_id", "period_start", "period_end") = 0 AND "period_start" < "period_end" AND "amount_nanos" > 0)),
  ADD CONSTRAINT "ledger_entries_top_ups" CHECK ("kind" <> 'top_up' OR ("meter_id" IS NULL AND "amount_nanos" > 0)),
  ADD CONSTRAINT "ledger_entries_adjustments" CHECK ("kind" <> 'adjustment' OR ("meter_id" IS NULL AND "amount_nanos" <> 0));
-- What was charged beyond the end is given back once.
CREATE UNIQUE INDEX "ledger_entries_one_refund" ON "ledger_entries" ("meter_id") WHERE "kind" = 'refund';

-- What accounts had before there was a ledger: what they were granted, as far as that is told, and the rest.
WITH "grants" AS (
  SELECT "id", "account_id", "reason", "after"->>'idempotencyKey' AS "key", "at",
    ("after"->>'creditNanos')::bigint - ("before"->>'creditNanos')::bigint AS "amount"
  FROM "events" WHERE "type" = 'CREDIT_GRANTED'
), "entries" AS (
  SELECT "account_id", 'top_up'::"ledger_kind" AS "kind", "amount", "reason", "key", "at", "id" AS "place" FROM "grants"
  WHERE "amount" > 0
  UNION ALL
  SELECT a."id", 'adjustment', a."posted_nanos" - coalesce(sum(g."amount"), 0), 'Balance before there was a ledger', NULL,
    a."created_at", 0
  FROM "accounts" a LEFT JOIN "grants" g ON g."account_id" = a."id" AND g."amount" > 0
  GROUP BY a."id" HAVING a."posted_nanos" <> coalesce(sum(g."amount"), 0)
)
INSERT INTO "ledger_entries" ("account_id", "kind", "amount_nanos", "balance_after_nanos", "reason", "idempotency_key", "posted_at")
SELECT "account_id", "kind", "amount", sum("amount") OVER (PARTITION BY "account_id" ORDER BY "place"), "reason", "key", "at"
FROM "entries" ORDER BY "account_id", "place";
-- That a grant is made once is the ledger's to see to.
DROP INDEX "events_grant_once";

-- An entry counts as soon as it is written, and can be written only as the meter stands: from the instant up to which it
-- was charged before, at its rate, with what it carried. So nothing is charged twice, left out, or changed afterwards.
CREATE FUNCTION "ledger_entries_count"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET posted_nanos = posted_nanos + NEW.amount_nanos WHERE id = NEW.account_id
    RETURNING posted_nanos INTO STRICT NEW.balance_after_nanos;
  IF NEW.kind IN ('compute', 'disk') THEN
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
CREATE TRIGGER "ledger_entries_count" BEFORE INSERT ON "ledger_entries" FOR EACH ROW
  EXECUTE FUNCTION "ledger_entries_count"();

CREATE FUNCTION "is_refused"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is not possible', lower(TG_OP), TG_TABLE_NAME USING ERRCODE = 'check_violation',
    HINT = 'Money changes by entries of the ledger alone, and these stay.';
END $$;
CREATE TRIGGER "ledger_entries_stay" BEFORE UPDATE OR DELETE ON "ledger_entries" FOR EACH ROW EXECUTE FUNCTION "is_refused"();
CREATE TRIGGER "ledger_entries_stay_all" BEFORE TRUNCATE ON "ledger_entries" FOR EACH STATEMENT EXECUTE FUNCTION "is_refused"();
CREATE TRIGGER "meters_stay" BEFORE DELETE ON "meters" FOR EACH ROW EXECUTE FUNCTION "is_refused"();
CREATE TRIGGER "meters_stay_all" BEFORE TRUNCATE ON "meters" FOR EACH STATEMENT EXECUTE FUNCTION "is_refused"();
-- A meter is of one thing for ever. While it costs something, it moves on by being charged alone; then it may begin anew.
CREATE TRIGGER "meters_move_by_charges" BEFORE UPDATE ON "meters" FOR EACH ROW
  WHEN (pg_trigger_depth() = 0 AND (NEW."charged_nanos" <> OLD."charged_nanos" OR NEW."carried" <> OLD."carried"
    OR (NEW."id", NEW."account_id", NEW."api_key_id", NEW."instance_id", NEW."volume_id", NEW."kind")
      IS DISTINCT FROM (OLD."id", OLD."account_id", OLD."api_key_id", OLD."instance_id", OLD."volume_id", OLD."kind")
    OR NEW."since" < OLD."since" OR (NEW."since" <> OLD."since" AND OLD."rate_nanos" > 0)))
  EXECUTE FUNCTION "is_refused"();

-- What the meters of an account come to, kept beside its sum.
CREATE FUNCTION "accounts_add"("added" "meters"[], "removed" "meters"[]) RETURNS void LANGUAGE sql AS $$
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
      sign * (rate_nanos * extract(epoch FROM since) * 1000 - carried) AS start) AS part
    GROUP BY account_id
  ) AS changed WHERE accounts.id = changed.account_id
$$;
CREATE FUNCTION "meters_count"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM accounts_add(ARRAY(SELECT ROW(m.*)::meters FROM new_meters m), '{}');
  ELSE
    PERFORM accounts_add(ARRAY(SELECT ROW(m.*)::meters FROM new_meters m), ARRAY(SELECT ROW(m.*)::meters FROM old_meters m));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "meters_count_new" AFTER INSERT ON "meters" REFERENCING NEW TABLE AS "new_meters"
  FOR EACH STATEMENT EXECUTE FUNCTION "meters_count"();
CREATE TRIGGER "meters_count_changed" AFTER UPDATE ON "meters" REFERENCING OLD TABLE AS "old_meters" NEW TABLE AS "new_meters"
  FOR EACH STATEMENT EXECUTE FUNCTION "meters_count"();

CREATE TRIGGER "accounts_are_charged_by_the_ledger" BEFORE UPDATE ON "accounts" FOR EACH ROW
  WHEN (pg_trigger_depth() = 0 AND (NEW."posted_nanos", NEW."compute_rate_nanos", NEW."compute_origin", NEW."disk_rate_nanos",
    NEW."disk_origin", NEW."metered_at") IS DISTINCT FROM (OLD."posted_nanos", OLD."compute_rate_nanos", OLD."compute_origin",
    OLD."disk_rate_nanos", OLD."disk_origin", OLD."metered_at"))
  EXECUTE FUNCTION "is_refused"();
CREATE TRIGGER "accounts_begin_with_nothing" BEFORE INSERT ON "accounts" FOR EACH ROW
  WHEN ((NEW."posted_nanos", NEW."compute_rate_nanos", NEW."compute_origin", NEW."disk_rate_nanos", NEW."disk_origin")
    IS DISTINCT FROM (0::bigint, 0::bigint, 0::numeric, 0::bigint, 0::numeric))
  EXECUTE FUNCTION "is_refused"();

-- What is there already costs from now on.
INSERT INTO "meters" ("account_id", "api_key_id", "instance_id", "kind", "rate_nanos", "since", "ends_at")
SELECT i."account_id", i."api_key_id", i."id", k."kind", CASE k."kind"
    WHEN 'disk' THEN CASE WHEN i."status" IN ('offline', 'unknown') THEN 0 ELSE i."disk_nanos" END
    ELSE CASE WHEN i."status" = 'running' AND i."target_state" = 'running' AND EXISTS (
      SELECT FROM "gpus" g WHERE g."machine_id" = i."machine_id" AND g."holder_id" = i."id") THEN i."compute_nanos" ELSE 0 END
  END, now(), i."ends_at"
FROM "instances" i CROSS JOIN (VALUES ('compute'::"charge_kind"), ('disk')) AS k("kind") WHERE i."destroyed_at" IS NULL
ORDER BY i."id";
INSERT INTO "meters" ("account_id", "volume_id", "kind", "rate_nanos", "since")
SELECT "account_id", "id", 'disk', "disk_nanos", now() FROM "volumes" WHERE "deleted_at" IS NULL ORDER BY "id";
UPDATE "accounts" SET "billing_due_at" = now() WHERE "compute_rate_nanos" + "disk_rate_nanos" > 0;
