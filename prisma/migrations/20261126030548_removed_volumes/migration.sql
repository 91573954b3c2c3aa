-- AlterTable
ALTER TABLE "volumes" ADD COLUMN     "removed_at" TIMESTAMPTZ(3);

-- Simulated machines keep no data. A gateway finds out what the others have.
UPDATE "volumes" v SET "removed_at" = "deleted_at"
WHERE "deleted_at" IS NOT NULL AND NOT EXISTS (SELECT FROM "engines" e WHERE e."machine_id" = v."machine_id");

ALTER TABLE "volumes"
  ADD CONSTRAINT "volumes_removed" CHECK ("removed_at" IS NULL OR "deleted_at" IS NOT NULL);
CREATE INDEX "volumes_to_remove" ON "volumes" ("machine_id") WHERE "deleted_at" IS NOT NULL AND "removed_at" IS NULL;
