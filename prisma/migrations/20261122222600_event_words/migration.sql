-- The words of the GraphQL schema for events: `kind` tells values of one type apart, and every creation has `created_at`.

ALTER TABLE "events" RENAME COLUMN "type" TO "kind";
ALTER TABLE "events" RENAME COLUMN "at" TO "created_at";
ALTER TABLE "webhooks" RENAME COLUMN "types" TO "kinds";

-- The same words in what events of webhooks recorded.
UPDATE "events" SET
  "before" = CASE WHEN "before" ? 'types' THEN "before" - 'types' || jsonb_build_object('kinds', "before"->'types') ELSE "before" END,
  "after" = CASE WHEN "after" ? 'types' THEN "after" - 'types' || jsonb_build_object('kinds', "after"->'types') ELSE "after" END
WHERE "kind" LIKE 'WEBHOOK%';
