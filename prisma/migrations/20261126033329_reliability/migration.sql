-- CreateTable
CREATE TABLE "silent_days" (
    "machine_id" INTEGER NOT NULL,
    "day" DATE NOT NULL,
    "seconds" INTEGER NOT NULL,

    CONSTRAINT "silent_days_pkey" PRIMARY KEY ("machine_id","day")
);

-- CreateTable
CREATE TABLE "listed_reliabilities" (
    "machine_id" INTEGER NOT NULL,
    "reliability" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "listed_reliabilities_pkey" PRIMARY KEY ("machine_id")
);

-- CreateTable
CREATE TABLE "reliability_progress" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "noted_until" TIMESTAMPTZ(3) NOT NULL DEFAULT '1970-01-01 00:00:00 +00:00',
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT '1970-01-01 00:00:00 +00:00',

    CONSTRAINT "reliability_progress_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "silent_days_day_idx" ON "silent_days"("day");

-- What the schema language does not have.
ALTER TABLE "reliability_progress" ADD CONSTRAINT "reliability_progress_one_row" CHECK ("id");
INSERT INTO "reliability_progress" DEFAULT VALUES;
ALTER TABLE "silent_days" ADD CONSTRAINT "silent_days_seconds" CHECK ("seconds" BETWEEN 0 AND 86400);
ALTER TABLE "listed_reliabilities" ADD CONSTRAINT "listed_reliabilities_range" CHECK ("reliability" BETWEEN 0 AND 1);
CREATE INDEX "instances_unreachable" ON "instances" ("machine_id") WHERE "unreachable_at" IS NOT NULL;
