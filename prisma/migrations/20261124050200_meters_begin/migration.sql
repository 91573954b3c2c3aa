-- Usage of a month long ago read the charges of every meter that was charged since. A meter now says when it began, so that
-- those that began after the month are left out in the index. Meters of before this migration began at any time.
ALTER TABLE "meters" ADD COLUMN "began_at" TIMESTAMPTZ(3) NOT NULL DEFAULT '1970-01-01 00:00:00 +00:00';
DROP INDEX "meters_account_id_since_idx";
CREATE INDEX "meters_account_id_since_began_at_idx" ON "meters"("account_id", "since", "began_at");
