-- What changes each time that the reconciler looks at an instance, in narrow rows: a look rewrites few bytes, and no index of
-- `instances`.

-- A gateway of an earlier version that still runs must not change an instance between the copy and the loss of its columns.
LOCK TABLE "instances" IN ACCESS EXCLUSIVE MODE;

CREATE TABLE "instance_looks" (
    "instance_id" BIGINT NOT NULL,
    "account_id" INTEGER NOT NULL,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "due_at" TIMESTAMPTZ(3),
    "leased_until" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "seen_at" TIMESTAMPTZ(3),

    CONSTRAINT "instance_looks_pkey" PRIMARY KEY ("instance_id")
);
-- Room for the versions that leases and findings make, which then stay on their page.
ALTER TABLE "instance_looks" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

INSERT INTO "instance_looks" ("instance_id", "account_id", "generation", "due_at", "leased_until", "attempts", "seen_at")
SELECT "id", "account_id", "generation", "due_at", "leased_until", "attempts", "seen_at" FROM "instances";

CREATE INDEX "instance_looks_due" ON "instance_looks" ("due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "instance_looks_due_of_account" ON "instance_looks" ("account_id", "due_at") WHERE "due_at" IS NOT NULL;
ALTER TABLE "instance_looks" ADD CONSTRAINT "instance_looks_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- The indexes of the columns go with them.
ALTER TABLE "instances" DROP COLUMN "generation", DROP COLUMN "due_at", DROP COLUMN "leased_until", DROP COLUMN "attempts", DROP COLUMN "seen_at";

-- Each instance is looked at from its creation on.
CREATE FUNCTION "instances_are_looked_at"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "instance_looks" ("instance_id", "account_id", "due_at") VALUES (NEW."id", NEW."account_id", NEW."created_at");
  RETURN NULL;
END
$$;
CREATE TRIGGER "instances_are_looked_at" AFTER INSERT ON "instances" FOR EACH ROW EXECUTE FUNCTION "instances_are_looked_at"();
