-- AlterTable
ALTER TABLE "webhooks" ADD COLUMN     "failing_since" TIMESTAMPTZ(3);

CREATE INDEX "webhooks_failing" ON "webhooks" ("failing_since") WHERE "failing_since" IS NOT NULL;

-- Counts machines by state without reading them.
CREATE INDEX "machines_by_state" ON "machines" ("unlisted_at", "drained_at", "unconfirmed_at");
