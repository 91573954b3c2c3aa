-- Old events and their deliveries go by dropping a table, which leaves no dead rows behind. So both tables have
-- partitions by the id of the event. Ids are unique without the partition, and stay the same in a restored dump.
-- The rows of today become the first partition. PostgreSQL reads them once to check their ids.

-- A partition goes with the deliveries of its events, so no foreign key must look for them.
ALTER TABLE "webhook_deliveries" DROP CONSTRAINT "webhook_deliveries_event_id_fkey";
-- A key of partitions must contain the event. It replaces three indexes.
ALTER TABLE "webhook_deliveries" DROP CONSTRAINT "webhook_deliveries_pkey";
DROP INDEX "webhook_deliveries_event_id_idx";

-- The partitioned tables get the names of the tables and of what belongs to them.
DO $$
DECLARE "row" record;
BEGIN
  FOR "row" IN SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE x.indrelid IN ('events'::regclass, 'webhook_deliveries'::regclass)
  LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', "row".relname, 'first_' || "row".relname);
  END LOOP;
END $$;
ALTER TABLE "events" RENAME TO "events_from_0";
ALTER TABLE "webhook_deliveries" RENAME TO "webhook_deliveries_from_0";

CREATE TABLE "events" (LIKE "events_from_0" INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE ("id");
ALTER SEQUENCE "events_id_seq" OWNED BY "events"."id";
ALTER TABLE "events" ADD CONSTRAINT "events_pkey" PRIMARY KEY ("id");
CREATE INDEX "events_xid_id_idx" ON "events" ("xid", "id");
CREATE INDEX "events_account_id_xid_id_idx" ON "events" ("account_id", "xid", "id");
CREATE INDEX "events_subject_type_subject_id_xid_id_idx" ON "events" ("subject_type", "subject_id", "xid", "id");

CREATE TABLE "webhook_deliveries" (LIKE "webhook_deliveries_from_0" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
  PARTITION BY RANGE ("event_id");
ALTER SEQUENCE "webhook_deliveries_id_seq" OWNED BY "webhook_deliveries"."id";
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("webhook_id", "event_id");
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_id_fkey"
  FOREIGN KEY ("webhook_id") REFERENCES "webhooks" ("id") ON DELETE RESTRICT ON UPDATE CASCADE;
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" ("webhook_id", "due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "webhook_deliveries_leased" ON "webhook_deliveries" ("webhook_id") WHERE "leased_until" IS NOT NULL;
CREATE INDEX "webhook_deliveries_oldest_due" ON "webhook_deliveries" ("due_at") WHERE "due_at" IS NOT NULL;

DO $$
DECLARE
  -- The gateway begins new partitions, with this many ids each: `size` in services/events/partitions.ts.
  "size" constant bigint := 1000000000;
  "next" bigint;
BEGIN
  SELECT ("last_value" / "size" + 1) * "size" INTO "next" FROM "events_id_seq";
  SELECT greatest("next", (max("id") / "size" + 1) * "size") INTO "next" FROM "events_from_0";
  EXECUTE format('ALTER TABLE "events" ATTACH PARTITION "events_from_0" FOR VALUES FROM (0) TO (%s)', "next");
  EXECUTE format(
    'ALTER TABLE "webhook_deliveries" ATTACH PARTITION "webhook_deliveries_from_0" FOR VALUES FROM (0) TO (%s)', "next");
END $$;
