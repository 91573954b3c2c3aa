-- Tells every gateway that an API key has changed, whoever changed it, so that none goes on with what it remembers.

CREATE FUNCTION tell_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NOTIFY berth_key_change;
  RETURN NULL;
END $$;

CREATE TRIGGER key_change_is_told
  AFTER DELETE OR UPDATE OF public_id, secret_hash, permissions, expires_at, revoked_at, account_id ON api_keys
  FOR EACH STATEMENT EXECUTE FUNCTION tell_key_change();
