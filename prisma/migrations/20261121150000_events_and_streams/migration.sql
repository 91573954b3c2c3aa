-- DropIndex
DROP INDEX "events_instance_id_id_idx";

-- AlterTable
ALTER TABLE "instances" ADD COLUMN     "announced_at" TIMESTAMPTZ(3),
ADD COLUMN     "policy_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "policy_leased_until" TIMESTAMPTZ(3),
ADD COLUMN     "seen_at" TIMESTAMPTZ(3),
ADD COLUMN     "unconfirmed_at" TIMESTAMPTZ(3),
ADD COLUMN     "unreachable_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "machines" ADD COLUMN     "offers_xid" xid8 NOT NULL DEFAULT pg_current_xact_id(),
ADD COLUMN     "unconfirmed_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "simulated_containers" ADD COLUMN     "ends_at" TIMESTAMPTZ(3),
ADD COLUMN     "log" JSONB NOT NULL DEFAULT '[]',
ADD COLUMN     "machine_id" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "script" JSONB NOT NULL DEFAULT '{}';

-- CreateTable
CREATE TABLE "outbox" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "epoch" INTEGER NOT NULL DEFAULT 1,
    "cluster" TEXT NOT NULL,
    "purged_xid" xid8 NOT NULL DEFAULT '0'::xid8,
    "purged_id" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhooks" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "url" TEXT NOT NULL,
    "types" TEXT[],
    "secret" BYTEA NOT NULL,
    "old_secret" BYTEA,
    "old_secret_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhooks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" BIGSERIAL NOT NULL,
    "webhook_id" INTEGER NOT NULL,
    "event_id" BIGINT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3),
    "leased_until" TIMESTAMPTZ(3),
    "attempted_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "response_status" INTEGER,
    "error" TEXT,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "simulated_outages" (
    "machine_id" INTEGER NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "simulated_outages_pkey" PRIMARY KEY ("machine_id")
);

-- CreateIndex
CREATE INDEX "webhook_deliveries_event_id_idx" ON "webhook_deliveries"("event_id");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_deliveries_webhook_id_event_id_key" ON "webhook_deliveries"("webhook_id", "event_id");

-- CreateIndex
CREATE INDEX "events_account_id_xid_id_idx" ON "events"("account_id", "xid", "id");

-- CreateIndex
CREATE INDEX "events_instance_id_xid_id_idx" ON "events"("instance_id", "xid", "id");

-- CreateIndex
CREATE INDEX "machines_offers_xid_idx" ON "machines"("offers_xid");

-- AddForeignKey
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_id_fkey" FOREIGN KEY ("webhook_id") REFERENCES "webhooks"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_event_id_fkey" FOREIGN KEY ("event_id") REFERENCES "events"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language cannot say.

ALTER TABLE "outbox" ADD CONSTRAINT "outbox_has_one_row" CHECK ("id");
INSERT INTO "outbox" ("cluster") VALUES ('');

ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_old_secret" CHECK (("old_secret" IS NULL) = ("old_secret_until" IS NULL));
CREATE INDEX "webhooks_of_account" ON "webhooks" ("account_id") WHERE "deleted_at" IS NULL;
ALTER TABLE "webhook_deliveries"
  ADD CONSTRAINT "webhook_deliveries_arrive_once" CHECK ("delivered_at" IS NULL OR "due_at" IS NULL);
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" ("webhook_id", "due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "webhook_deliveries_leased" ON "webhook_deliveries" ("webhook_id") WHERE "leased_until" IS NOT NULL;

CREATE INDEX "instances_policy_due" ON "instances" ("policy_due_at") WHERE "policy_due_at" IS NOT NULL;

-- Whoever follows the market is told of each machine of which a search may find something else now. In one place, so that
-- nothing that changes offers can forget it. It costs no round trip, and of one transaction at most one more write of a
-- machine that it has locked.
CREATE FUNCTION "machines_change_offers"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."offers_xid" := pg_current_xact_id();
  RETURN NEW;
END $$;
CREATE TRIGGER "machines_change_offers" BEFORE UPDATE ON "machines" FOR EACH ROW
  EXECUTE FUNCTION "machines_change_offers"();

CREATE FUNCTION "offers_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "machines" SET "offers_xid" = pg_current_xact_id()
  WHERE "id" IN (SELECT "machine_id" FROM "changed") AND "offers_xid" <> pg_current_xact_id();
  RETURN NULL;
END $$;
CREATE TRIGGER "offers_are_listed" AFTER INSERT ON "offers" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "offers_change"();
CREATE TRIGGER "offers_are_changed" AFTER UPDATE ON "offers" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "offers_change"();
