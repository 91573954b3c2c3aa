-- A limit is created, updated and deleted. Until now `created_at` was when its amount and action were last set.

ALTER TABLE "spend_limits" RENAME COLUMN "created_at" TO "updated_at";
ALTER TABLE "spend_limits" ADD COLUMN "created_at" TIMESTAMPTZ(3);
UPDATE "spend_limits" l SET "created_at" = coalesce((
  SELECT min(e."created_at") FROM "events" e
  WHERE e."subject_type" = 'SpendLimit' AND e."subject_id" = l."id" AND e."kind" = 'SPEND_LIMIT_CHANGED'
), l."updated_at");
ALTER TABLE "spend_limits" ALTER COLUMN "created_at" SET NOT NULL;

-- A creation has no facts before it, and a deletion none after it.
UPDATE "events" SET "kind" = CASE
    WHEN coalesce("before", 'null') = 'null' THEN 'SPEND_LIMIT_CREATED'
    WHEN coalesce("after", 'null') = 'null' THEN 'SPEND_LIMIT_DELETED'
    ELSE 'SPEND_LIMIT_UPDATED'
  END
WHERE "kind" = 'SPEND_LIMIT_CHANGED';
UPDATE "webhooks" SET "kinds" = array_cat(array_remove("kinds", 'SPEND_LIMIT_CHANGED'),
    '{SPEND_LIMIT_CREATED,SPEND_LIMIT_UPDATED,SPEND_LIMIT_DELETED}'::text[])
WHERE "kinds" @> '{SPEND_LIMIT_CHANGED}'::text[];
