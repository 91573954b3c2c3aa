-- AlterTable
ALTER TABLE "machines" ADD COLUMN     "limits_disk" BOOLEAN NOT NULL DEFAULT true;

-- What engines can do was not asked before. Nothing is promised for them until they are connected again.
UPDATE "machines" SET "limits_disk" = false WHERE "id" IN (SELECT "machine_id" FROM "engines");
