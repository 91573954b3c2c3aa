-- Which transaction last changed a machine or its offers, in narrow rows. Each rental changes it, and as an indexed column of
-- `machines` it made a new entry in each index of that table.

-- No machine may be listed between the copy and the triggers.
LOCK TABLE "machines", "offers" IN ACCESS EXCLUSIVE MODE;

CREATE TABLE "market_changes" (
    "machine_id" INTEGER NOT NULL,
    "xid" xid8 NOT NULL DEFAULT pg_current_xact_id(),

    CONSTRAINT "market_changes_pkey" PRIMARY KEY ("machine_id")
);
ALTER TABLE "market_changes" SET (fillfactor = 70);

INSERT INTO "market_changes" ("machine_id", "xid") SELECT "id", "offers_xid" FROM "machines";

CREATE INDEX "market_changes_xid_idx" ON "market_changes"("xid");
ALTER TABLE "market_changes" ADD CONSTRAINT "market_changes_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE CASCADE ON UPDATE CASCADE;

DROP TRIGGER "machines_change_offers" ON "machines";
DROP FUNCTION "machines_change_offers"();
-- Its index goes with it.
ALTER TABLE "machines" DROP COLUMN "offers_xid";

-- The ids come as an array, so that each row is looked up by its key, whatever the planner expects.
CREATE FUNCTION "machines_enter_market"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "market_changes" ("machine_id") SELECT "id" FROM "changed";
  RETURN NULL;
END $$;
CREATE TRIGGER "machines_enter_market" AFTER INSERT ON "machines" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "machines_enter_market"();

CREATE FUNCTION "machines_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "market_changes" SET "xid" = pg_current_xact_id()
  WHERE "machine_id" = ANY (ARRAY(SELECT "id" FROM "changed")) AND "xid" <> pg_current_xact_id();
  RETURN NULL;
END $$;
CREATE TRIGGER "machines_change" AFTER UPDATE ON "machines" REFERENCING NEW TABLE AS "changed"
  FOR EACH STATEMENT EXECUTE FUNCTION "machines_change"();

CREATE OR REPLACE FUNCTION "offers_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "market_changes" SET "xid" = pg_current_xact_id()
  WHERE "machine_id" = ANY (ARRAY(SELECT "machine_id" FROM "changed")) AND "xid" <> pg_current_xact_id();
  RETURN NULL;
END $$;
