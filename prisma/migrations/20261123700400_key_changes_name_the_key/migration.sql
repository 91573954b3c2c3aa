-- Written by hand: what the schema language cannot say.

-- Tells every gateway which API key has changed, so that it forgets that key alone. A change that leaves what gateways remember
-- as it was, such as a new name, tells nothing.

DROP TRIGGER key_change_is_told ON api_keys;

CREATE OR REPLACE FUNCTION tell_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('berth_key_change', OLD.id::text);
  RETURN NULL;
END $$;

CREATE TRIGGER key_change_is_told AFTER UPDATE ON api_keys FOR EACH ROW
  WHEN (
    (OLD.account_id, OLD.public_id, OLD.secret_hash, OLD.permissions, OLD.expires_at, OLD.revoked_at) IS DISTINCT FROM
    (NEW.account_id, NEW.public_id, NEW.secret_hash, NEW.permissions, NEW.expires_at, NEW.revoked_at)
  )
  EXECUTE FUNCTION tell_key_change();

CREATE TRIGGER key_deletion_is_told AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION tell_key_change();
