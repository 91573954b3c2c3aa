-- What an event is about is written in the same transaction, and is never deleted. Three foreign keys looked it up again
-- for each event, and locked the rows that most transactions share.
ALTER TABLE "events" DROP CONSTRAINT "events_account_id_fkey", DROP CONSTRAINT "events_instance_id_fkey",
  DROP CONSTRAINT "events_api_key_id_fkey";

-- The index of the subject finds the events of an instance, too.
DROP INDEX "events_instance_id_xid_id_idx";
