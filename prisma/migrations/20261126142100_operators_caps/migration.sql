-- A cap is a spend limit of a whole account that an operator sets. The account has its own limits beside it.
ALTER TABLE "spend_limits" ADD COLUMN "cap" BOOLEAN NOT NULL DEFAULT false;

-- Written by hand: what the schema language cannot say.

ALTER TABLE "spend_limits" ADD CONSTRAINT "spend_limits_cap_whole_accounts" CHECK (NOT "cap" OR "api_key_id" IS NULL);

DROP INDEX "spend_limits_one_of_a_kind";
CREATE UNIQUE INDEX "spend_limits_one_of_a_kind" ON "spend_limits" ("account_id", coalesce("api_key_id", 0), "window", "cap");
