-- DropIndex
DROP INDEX "meters_account_id_idx";

-- CreateIndex
CREATE INDEX "meters_account_id_since_idx" ON "meters"("account_id", "since");

-- CreateIndex
CREATE INDEX "meter_ends_at_idx" ON "meter_ends"("at");

-- Written by hand: what the schema language cannot say.

-- Whether a machine owes an answer is asked while it is locked. Few instances owe one, of all that were ever made.
CREATE INDEX "instances_unconfirmed" ON "instances" ("machine_id") WHERE "unconfirmed_at" IS NOT NULL;
