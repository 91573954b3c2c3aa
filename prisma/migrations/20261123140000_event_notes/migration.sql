-- The reason of an event is a code. The free text of an operator is a note.
ALTER TABLE "events" ADD COLUMN "note" TEXT;
UPDATE "events" SET "note" = "reason", "reason" = NULL WHERE "kind" = 'CREDIT_GRANTED' AND "reason" IS NOT NULL;

-- The exit code was only in the message.
UPDATE "events" SET "after" = "after" || jsonb_build_object('exitCode', substring("after"->>'message' FROM 'code (-?\d{1,9})\.$')::int)
WHERE "kind" = 'INSTANCE_STATUS_CHANGED' AND "reason" = 'EXITED' AND "after"->>'message' ~ 'code -?\d{1,9}\.$';
