-- A destroyed instance keeps no volume from being deleted: its container may be on a machine that never answers again, and the
-- volume would cost until then. The machine removes the data after the container.
CREATE OR REPLACE FUNCTION "volumes_stay_while_attached"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM volume_attachments a JOIN instances i ON i.id = a.instance_id
    WHERE a.volume_id = NEW.id AND a.released_at IS NULL AND i.destroyed_at IS NULL
  ) THEN
    RAISE EXCEPTION 'volume % is attached', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;
