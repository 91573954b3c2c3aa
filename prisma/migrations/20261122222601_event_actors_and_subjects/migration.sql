-- Who made a change, and what it is about. Both were to be guessed before.

ALTER TABLE "events" ADD COLUMN "actor_kind" TEXT, ADD COLUMN "subject_type" TEXT, ADD COLUMN "subject_id" BIGINT;

UPDATE "events" e SET
  "actor_kind" = CASE
    WHEN e."api_key_id" IS NOT NULL THEN 'api_key'
    WHEN e."kind" IN ('CREDIT_GRANTED', 'ACCOUNT_QUOTAS_CHANGED', 'API_KEY_CREATED', 'API_KEY_DELETED') THEN 'operator'
    ELSE 'system'
  END,
  "subject_type" = CASE WHEN s."id" IS NULL THEN 'Account' ELSE s."type" END,
  "subject_id" = coalesce(s."id", e."account_id")
FROM (
  SELECT o."id" AS "event_id", CASE WHEN o."instance_id" IS NOT NULL THEN 'Instance' ELSE r."type" END AS "type",
    coalesce(o."instance_id", (coalesce(o."after"->>r."fact", o."before"->>r."fact"))::bigint) AS "id"
  FROM "events" o LEFT JOIN (VALUES
    ('TEMPLATE\_%', 'Template', 'templateId'), ('VOLUME\_%', 'Volume', 'volumeId'), ('SSH\_KEY\_%', 'SshKey', 'sshKeyId'),
    ('API\_KEY\_%', 'ApiKey', 'apiKeyId'), ('WEBHOOK\_%', 'Webhook', 'webhookId'),
    ('SPEND\_LIMIT\_%', 'SpendLimit', 'spendLimitId'), ('ACCOUNT\_SPEND\_LIMIT', 'SpendLimit', 'spendLimitId')
  ) AS r("kinds", "type", "fact") ON o."kind" LIKE r."kinds"
) s WHERE s."event_id" = e."id";

ALTER TABLE "events" ALTER COLUMN "actor_kind" SET NOT NULL, ALTER COLUMN "subject_type" SET NOT NULL, ALTER COLUMN "subject_id" SET NOT NULL;
ALTER TABLE "events" ADD CONSTRAINT "events_name_their_key" CHECK (("actor_kind" = 'api_key') = ("api_key_id" IS NOT NULL));
CREATE INDEX "events_subject_type_subject_id_xid_id_idx" ON "events"("subject_type", "subject_id", "xid", "id");
