-- What PostGraphile and the floor call: a search by hand, and writes of the same rows that Berth writes. They check no
-- permission, quota or credit. What they make due is due after the bench, because the running gateway would do it.
CREATE SCHEMA peer;

-- Reads the front of the index range of each kind of offer, a GPU model and count, and merges the fronts.
CREATE FUNCTION peer.search_offers(gpu_names text[], min_gpu_ram_mb int, min_gpus int, min_reliability float8, max_price_nanos bigint,
  max_rows int) RETURNS SETOF offers LANGUAGE sql STABLE AS $$
  SELECT front.* FROM offer_kinds k JOIN gpu_models g ON g.id = k.gpu_model_id
  CROSS JOIN LATERAL (
    SELECT o.* FROM offers o
    WHERE o.withdrawn_at IS NULL AND o.rentable AND o.verified AND o.gpu_model_id = k.gpu_model_id AND o.num_gpus = k.num_gpus
    AND o.leads AND o.reliability >= min_reliability AND o.price_nanos <= max_price_nanos AND o.listed_until > now()
    ORDER BY o.price_nanos, o.id LIMIT max_rows
  ) front
  WHERE g.name = ANY(gpu_names) AND g.ram_mb >= min_gpu_ram_mb AND k.num_gpus >= min_gpus
  ORDER BY front.price_nanos, front.id LIMIT max_rows
$$;

-- An event of each instance, with its old state and the new one.
CREATE FUNCTION bench.record_events(event_kind text, ids bigint[], old_states jsonb[], new_state jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO events (kind, account_id, instance_id, actor_kind, api_key_id, subject_type, subject_id, before, after, reason, created_at)
  SELECT event_kind, i.account_id, i.id, actor, CASE WHEN actor = 'api_key' THEN i.api_key_id END, 'Instance', i.id, old.state,
    new_state, CASE WHEN actor = 'api_key' THEN 'USER_REQUEST' ELSE 'GPUS_FREE' END, now()
  FROM unnest(ids, old_states) AS old(id, state) JOIN instances i ON i.id = old.id
  CROSS JOIN (SELECT CASE WHEN event_kind = 'INSTANCE_GRANTED' THEN 'system' ELSE 'api_key' END AS actor) who
$$;

CREATE FUNCTION bench.grant_gpus(ids bigint[]) RETURNS void LANGUAGE sql AS $$
  UPDATE instance_looks SET generation = generation + 1 WHERE instance_id = ANY(ids);
  UPDATE gpus g SET holder_id = i.id FROM instances i
  WHERE i.id = ANY(ids) AND g.machine_id = i.machine_id AND g.index >= i.first_gpu AND g.index < i.first_gpu + i.num_gpus;
  SELECT bench.record_events('INSTANCE_GRANTED', ids, array_fill('{"granted": false}'::jsonb, ARRAY[cardinality(ids)]), '{"granted": true}');
$$;

CREATE FUNCTION peer.rent_offer(renter_id int, wanted_id bigint, image text) RETURNS instances LANGUAGE plpgsql AS $$
DECLARE
  instant timestamptz := date_trunc('milliseconds', now());
  machine machines;
  offer offers;
  rented instances;
BEGIN
  SELECT m.* INTO STRICT machine FROM machines m JOIN offers o ON o.machine_id = m.id WHERE o.id = wanted_id FOR NO KEY UPDATE OF m;
  UPDATE offers SET rentable = false, withdrawn_at = instant WHERE id = wanted_id AND rentable AND withdrawn_at IS NULL
  RETURNING * INTO STRICT offer;
  INSERT INTO instances (account_id, api_key_id, machine_id, offer_id, first_gpu, num_gpus, vm, launch, disk_mb, interruptible,
    gpu_price_nanos, disk_price_per_gb_month_nanos, disk_nanos, target_state, claimed_at, status_changed_at,
    policy_due_at, created_at, ends_at)
  SELECT renter_id, k.id, machine.id, offer.id, offer.first_gpu, offer.num_gpus, false,
    jsonb_build_object('env', '[]'::jsonb, 'lab', false, 'args', '[]'::jsonb, 'mode', 'sshProxy', 'image', image, 'ports', '[]'::jsonb,
      'onStart', NULL, 'sources', '{"image": "request"}'::jsonb, 'hostname', NULL, 'directory', NULL),
    8000, false, offer.gpu_price_nanos, machine.disk_price_per_gb_month_nanos,
    bench.disk_price_per_hour(machine.disk_price_per_gb_month_nanos, 8000), 'running', instant, instant,
    machine.listed_until - interval '24 hours', instant, machine.listed_until
  FROM api_keys k WHERE k.account_id = renter_id
  RETURNING * INTO rented;
  UPDATE instance_looks SET due_at = bench.quiet_until() WHERE instance_id = rented.id;
  UPDATE machines SET free_disk_mb = free_disk_mb - 8000 WHERE id = machine.id;
  PERFORM bench.record_events('INSTANCE_CREATED', ARRAY[rented.id], NULL, jsonb_build_object('mode', 'sshProxy', 'image', image, 'label', NULL,
    'diskMb', 8000, 'offerId', offer.id::text, 'machineId', machine.id, 'targetState', 'running', 'templateHash', NULL,
    'gpuPriceNanos', offer.gpu_price_nanos::text));
  PERFORM bench.grant_gpus(ARRAY[rented.id]);
  PERFORM bench.update_offers(ARRAY[machine.id]);
  INSERT INTO instance_ssh_keys (instance_id, ssh_key_id) SELECT rented.id, id FROM ssh_keys WHERE account_id = renter_id AND deleted_at IS NULL;
  UPDATE accounts SET billing_due_at = bench.quiet_until() WHERE id = renter_id;
  INSERT INTO meters (account_id, api_key_id, instance_id, kind, rate_nanos, since, ends_at) VALUES
    (renter_id, rented.api_key_id, rented.id, 'gpu', 0, instant, rented.ends_at),
    (renter_id, rented.api_key_id, rented.id, 'disk', rented.disk_nanos, instant, rented.ends_at);
  RETURN rented;
END $$;

CREATE FUNCTION peer.label_instances(owner_id int, ids bigint[], new_label text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  changed bigint[];
  old_labels jsonb[];
BEGIN
  SELECT array_agg(id), array_agg(jsonb_build_object('label', label)) INTO changed, old_labels FROM (
    SELECT * FROM instances WHERE account_id = owner_id AND id = ANY(ids) AND destroyed_at IS NULL ORDER BY id FOR NO KEY UPDATE
  ) i WHERE label IS DISTINCT FROM new_label;
  UPDATE instances SET label = new_label WHERE id = ANY(changed);
  PERFORM bench.record_events('INSTANCE_LABEL_CHANGED', changed, old_labels, jsonb_build_object('label', new_label));
  RETURN cardinality(changed);
END $$;

-- Stops or starts instances. Nothing follows it up, so a start also begins to charge the GPUs, as Berth's reconciler does.
CREATE FUNCTION peer.set_target_state(owner_id int, ids bigint[], new_state target_state) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  instant timestamptz := date_trunc('milliseconds', now());
  moved bigint[];
  places int[];
  old_states jsonb[];
BEGIN
  SELECT array_agg(id), array_agg(machine_id), array_agg(jsonb_build_object('targetState', target_state))
  INTO moved, places, old_states FROM (
    SELECT * FROM instances WHERE account_id = owner_id AND id = ANY(ids) AND destroyed_at IS NULL AND target_state <> new_state
    ORDER BY id FOR NO KEY UPDATE
  ) i;
  IF moved IS NULL THEN RETURN 0; END IF;
  PERFORM FROM machines WHERE id = ANY(places) ORDER BY id FOR NO KEY UPDATE;
  UPDATE instances SET target_state = new_state, target_reason = 'USER_REQUEST', claimed_at = instant
  WHERE id = ANY(moved);
  UPDATE instance_looks SET generation = generation + 1 WHERE instance_id = ANY(moved);
  PERFORM bench.record_events('INSTANCE_TARGET_CHANGED', moved, old_states, jsonb_build_object('targetState', new_state));
  UPDATE accounts SET billing_due_at = bench.quiet_until() WHERE id = owner_id;
  IF new_state = 'running' THEN
    PERFORM bench.grant_gpus(moved);
    UPDATE meters m SET rate_nanos = i.gpu_price_nanos, since = greatest(m.since, instant) FROM instances i
    WHERE m.instance_id = i.id AND m.kind = 'gpu' AND i.id = ANY(moved) AND m.rate_nanos = 0;
  ELSE
    INSERT INTO ledger_entries (account_id, kind, amount_nanos, meter_id, period_start, period_end, rate_nanos, carried, posted_at)
    SELECT owner_id, 'gpu', -((m.rate_nanos * ms + m.carried) / 3600000), m.id, m.since, instant, m.rate_nanos, m.carried, instant
    FROM meters m CROSS JOIN LATERAL (SELECT (extract(epoch FROM instant - m.since) * 1000)::bigint AS ms) period
    WHERE m.instance_id = ANY(moved) AND m.kind = 'gpu' AND m.rate_nanos > 0 AND ms > 0;
    UPDATE meters SET rate_nanos = 0 WHERE instance_id = ANY(moved) AND kind = 'gpu' AND rate_nanos > 0;
    UPDATE gpus SET holder_id = NULL WHERE machine_id = ANY(places) AND holder_id = ANY(moved);
  END IF;
  PERFORM bench.update_offers(places);
  RETURN cardinality(moved);
END $$;
