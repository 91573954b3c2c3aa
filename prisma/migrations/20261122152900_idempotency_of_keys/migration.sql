-- The API key that asked. Records from before belong to nobody: repeating such a request is refused until the record
-- expires after a day, since it may have run, and its answer may hold a secret of a key that asked for it.
ALTER TABLE "idempotency_keys" ADD COLUMN "api_key_id" INTEGER;

ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
