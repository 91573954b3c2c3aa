-- What only the owner of the tables can do, for the gateways, whose role owns nothing. Each function does one thing to tables
-- that it names, with their schema: no search path can put another table in their place.

-- Adds a partition for the ids after the last one, and takes the next id from it. Waits for transactions that have written
-- events, and stops those that want to: a statement that has begun would find no partition for its new id.
CREATE FUNCTION "begin_event_partition"() RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- `partitionSize` in services/events/partitions.ts.
  size constant bigint := 1000000000;
  first bigint;
  parent text;
BEGIN
  LOCK TABLE public.webhooks, public.events IN SHARE ROW EXCLUSIVE MODE;
  SELECT max((regexp_match(pg_get_expr(c.relpartbound, c.oid), $r$TO \('(\d+)'\)$r$))[1]::bigint) INTO STRICT first
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'public.events'::regclass;
  FOREACH parent IN ARRAY ARRAY['events', 'webhook_deliveries'] LOOP
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL)', parent || '_from_' || first, parent);
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%s) TO (%s)',
      parent, parent || '_from_' || first, first, first + size);
  END LOOP;
  PERFORM setval('public.events_id_seq', first, false);
END $$;

-- Drops the oldest partition of events, with its deliveries, but never the one that gets new events. Waits for its readers,
-- and stops all others meanwhile.
CREATE FUNCTION "drop_event_partition"() RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  oldest record;
BEGIN
  SELECT c.relname AS name, (regexp_match(pg_get_expr(c.relpartbound, c.oid), $r$FROM \('(\d+)'\)$r$))[1]::bigint AS first,
    (regexp_match(pg_get_expr(c.relpartbound, c.oid), $r$TO \('(\d+)'\)$r$))[1]::bigint AS before INTO STRICT oldest
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'public.events'::regclass
    ORDER BY first LIMIT 1;
  IF oldest.before > (SELECT last_value FROM public.events_id_seq) THEN
    RAISE EXCEPTION 'the oldest partition of events gets new events' USING ERRCODE = 'object_in_use';
  END IF;
  EXECUTE format('DROP TABLE public.%I, public.%I', 'webhook_deliveries' || substr(oldest.name, length('events') + 1), oldest.name);
END $$;

-- Empties a partition of samples, if it has rows.
CREATE FUNCTION "empty_sample_partition"("name" text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  has_rows boolean;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(format('public.%I', name))
    AND inhparent IN ('public.samples'::regclass, 'public.sample_minutes'::regclass)) THEN
    RAISE EXCEPTION '% is no partition of samples', name USING ERRCODE = 'wrong_object_type';
  END IF;
  EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO has_rows;
  IF has_rows THEN
    EXECUTE format('TRUNCATE public.%I', name);
  END IF;
END $$;

-- A dump brings events with transaction ids of its original server. This server has yet to assign some of these ids. All
-- events move to the beginning, ordered by their own ids: no other order is left. Returns whether there were such events.
CREATE FUNCTION "move_foreign_events"() RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Compared in the snapshot that finds the rows: rows of transactions that begin meanwhile are not foreign.
  UPDATE public.market_changes SET xid = '0' WHERE xid >= pg_snapshot_xmax(pg_current_snapshot());
  IF NOT EXISTS (SELECT FROM public.events WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())) THEN
    RETURN false;
  END IF;
  UPDATE public.events SET xid = '0' WHERE xid <> '0';
  UPDATE public.outbox SET purged_xid = '0', purged_id = 0;
  RETURN true;
END $$;

-- Fails if the database accepts no writes: uses disk space, reaches the WAL, and leaves nothing behind.
CREATE FUNCTION "try_write"() RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  CREATE TABLE public.berth_trial AS SELECT repeat(md5(i::text), 50) AS filler FROM generate_series(1, 100) AS i;
  DROP TABLE public.berth_trial;
END $$;

-- The owner grants them to the gateways' role: src/database/roles.
REVOKE ALL ON FUNCTION "begin_event_partition", "drop_event_partition", "empty_sample_partition", "move_foreign_events",
  "try_write" FROM PUBLIC;
