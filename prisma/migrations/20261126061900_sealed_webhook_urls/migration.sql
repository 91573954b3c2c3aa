-- A URL may contain a token, so it is sealed like other secrets. SQL cannot do that: each gateway seals what it finds in
-- "unsealed_url" before it is ready. The new name makes older gateways fail instead of writing there.
ALTER TABLE "webhooks" RENAME COLUMN "url" TO "unsealed_url";
ALTER TABLE "webhooks" ALTER COLUMN "unsealed_url" DROP NOT NULL;
ALTER TABLE "webhooks" ADD COLUMN "sealed_url" BYTEA NOT NULL DEFAULT '';
ALTER TABLE "webhooks" ALTER COLUMN "sealed_url" DROP DEFAULT;

-- Nothing is sent to a deleted webhook.
UPDATE "webhooks" SET "unsealed_url" = NULL WHERE "deleted_at" IS NOT NULL;

-- Written by hand: what the schema language cannot say.
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_have_one_url"
  CHECK (("unsealed_url" IS NOT NULL)::int + ("sealed_url" <> '')::int = ("deleted_at" IS NULL)::int);
