-- AlterTable
ALTER TABLE "instances" ADD COLUMN     "replace_attempts" SMALLINT,
ADD COLUMN     "replace_search" JSONB,
ADD COLUMN     "replace_seconds" INTEGER,
ADD COLUMN     "replaces_id" BIGINT;

-- AddForeignKey
ALTER TABLE "instances" ADD CONSTRAINT "instances_replaces_id_fkey" FOREIGN KEY ("replaces_id") REFERENCES "instances"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the schema language does not have.
ALTER TABLE "instances" ADD CONSTRAINT "instances_replacement" CHECK (
  num_nonnulls("replace_seconds", "replace_attempts", "replace_search") IN (0, 3)
  AND "replace_seconds" > 0 AND "replace_attempts" >= 0 AND "replaces_id" < "id");
-- Two gateways cannot replace an instance twice.
CREATE UNIQUE INDEX "instances_replacing" ON "instances" ("replaces_id") WHERE "replaces_id" IS NOT NULL;
