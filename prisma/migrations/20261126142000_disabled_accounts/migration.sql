ALTER TABLE "accounts" ADD COLUMN "disabled_at" TIMESTAMPTZ(3), ADD COLUMN "disabled_reason" TEXT;

-- Written by hand: what the schema language cannot say.

ALTER TABLE "accounts" ADD CONSTRAINT "accounts_disabled_with_reason"
  CHECK (("disabled_at" IS NULL) = ("disabled_reason" IS NULL));

-- Gateways remember keys together with whether their account is disabled. They forget them when that changes.

CREATE FUNCTION tell_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('berth_key_change', k.id::text) FROM api_keys k WHERE k.account_id = NEW.id AND k.revoked_at IS NULL;
  RETURN NULL;
END $$;

CREATE TRIGGER account_change_is_told AFTER UPDATE OF disabled_at, disabled_reason ON accounts FOR EACH ROW
  WHEN ((OLD.disabled_at, OLD.disabled_reason) IS DISTINCT FROM (NEW.disabled_at, NEW.disabled_reason))
  EXECUTE FUNCTION tell_account_change();
