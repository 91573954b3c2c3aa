-- Whether the keys of the instances that an API key rented work on when it is revoked. Those of API keys that were revoked
-- or have expired before end with this migration: nobody had a way to ask for them to be kept.
ALTER TABLE "api_keys" ADD COLUMN "keep_instance_keys" BOOLEAN NOT NULL DEFAULT false;
