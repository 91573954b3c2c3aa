-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "max_disk_gb" INTEGER,
ADD COLUMN     "max_instances" INTEGER,
ADD COLUMN     "max_loading" INTEGER,
ADD COLUMN     "max_volumes" INTEGER,
ADD COLUMN     "start_failed_at" TIMESTAMPTZ(3),
ADD COLUMN     "start_failures" INTEGER NOT NULL DEFAULT 0;

-- What the schema language cannot say.

ALTER TABLE "accounts"
  ADD CONSTRAINT "accounts_quotas" CHECK (least("max_disk_gb", "max_instances", "max_loading", "max_volumes") >= 0),
  ADD CONSTRAINT "accounts_start_failures"
    CHECK ("start_failures" >= 0 AND ("start_failures" = 0) = ("start_failed_at" IS NULL));
