-- AlterTable
ALTER TABLE "instances" ADD COLUMN     "idle_gpu_percent" SMALLINT,
ADD COLUMN     "idle_seconds" INTEGER;

-- CreateTable
CREATE TABLE "idle_instances" (
    "instance_id" BIGINT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idle_instances_pkey" PRIMARY KEY ("instance_id")
);

-- What the schema language does not have.
ALTER TABLE "instances" ADD CONSTRAINT "instances_idle_policy" CHECK (
  ("idle_gpu_percent" IS NULL) = ("idle_seconds" IS NULL) AND "idle_gpu_percent" BETWEEN 1 AND 100 AND "idle_seconds" > 0);
CREATE INDEX "instances_with_idle_policy" ON "instances" ("id") WHERE "idle_seconds" IS NOT NULL AND "destroyed_at" IS NULL;
