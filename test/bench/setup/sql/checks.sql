-- What writes left behind, in a form that is equal whoever wrote, and the way back.

CREATE FUNCTION bench.trace_of_rental(rented_id bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('launch', i.launch, 'target', i.target_state, 'disk', i.disk_mb, 'template', i.template_id,
    'events', (SELECT json_agg(e.kind ORDER BY e.id) FROM events e WHERE e.instance_id = i.id AND e.kind <> 'INSTANCE_STATUS_CHANGED'),
    'meters', (SELECT json_agg(json_build_array(t.kind, t.ends_at = i.ends_at) ORDER BY t.kind) FROM meters t WHERE t.instance_id = i.id),
    'sshKeys', (SELECT count(*) FROM instance_ssh_keys s WHERE s.instance_id = i.id),
    'holdsItsGpus', (SELECT count(*) FROM gpus g WHERE g.machine_id = i.machine_id AND g.holder_id = i.id) = i.num_gpus,
    'offersLeft', (SELECT count(*) FROM offers o WHERE o.machine_id = i.machine_id AND o.rentable),
    'tookDisk', (SELECT m.disk_mb - m.free_disk_mb FROM machines m WHERE m.id = i.machine_id))
  FROM instances i WHERE i.id = rented_id
$$;

CREATE FUNCTION bench.trace_of_labels(ids bigint[], new_label text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('labels', (SELECT count(*) FROM instances WHERE id = ANY(ids) AND label = new_label),
    'events', (SELECT count(*) FROM events WHERE kind = 'INSTANCE_LABEL_CHANGED' AND after ->> 'label' = new_label))
$$;

CREATE FUNCTION bench.trace_of_targets(ids bigint[]) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_object('targets', array_agg(DISTINCT i.target_state),
    'held', (SELECT count(*) FROM gpus WHERE holder_id = ANY(ids)),
    -- Berth begins to charge a started instance when its container runs.
    'chargedWhileStopped', (SELECT count(*) FROM meters t JOIN instances s ON s.id = t.instance_id
      WHERE s.id = ANY(ids) AND t.kind = 'gpu' AND t.rate_nanos > 0 AND s.target_state = 'stopped'),
    'offers', (SELECT count(*) FROM offers o WHERE o.machine_id = ANY(array_agg(i.machine_id)) AND o.rentable))
  FROM instances i WHERE i.id = ANY(ids)
$$;

-- Leaves nothing due for the gateway's loops but what they have locked. Returns how much was due. Waits for no lock: the loops
-- lock several accounts in the order of ids, which an UPDATE does not keep.
CREATE FUNCTION bench.quiet_gateway() RETURNS bigint LANGUAGE sql AS $$
  WITH due_looks AS (SELECT instance_id FROM instance_looks WHERE due_at < now() + interval '1 hour'),
  free_looks AS (SELECT instance_id FROM instance_looks WHERE due_at < now() + interval '1 hour' FOR UPDATE SKIP LOCKED),
  due_accounts AS (SELECT id FROM accounts WHERE billing_due_at < now() + interval '1 hour'),
  free_accounts AS (SELECT id FROM accounts WHERE billing_due_at < now() + interval '1 hour' FOR NO KEY UPDATE SKIP LOCKED),
  looks AS (
    UPDATE instance_looks l SET due_at = bench.quiet_until(), leased_until = NULL FROM free_looks f
    WHERE l.instance_id = f.instance_id
  ), accounts AS (
    UPDATE accounts a SET billing_due_at = bench.quiet_until(), billing_leased_until = NULL FROM free_accounts f WHERE a.id = f.id
  ) SELECT (SELECT count(*) FROM due_looks) + (SELECT count(*) FROM due_accounts)
$$;

-- Lets the instances of all fleets run as at first.
CREATE FUNCTION bench.restore_fleets() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[] := ARRAY(SELECT instance_id FROM bench.rentals WHERE account_id > 1);
BEGIN
  -- The gateway may still work on them, and locks in this order.
  PERFORM FROM machines WHERE id IN (SELECT machine_id FROM bench.rentals WHERE account_id > 1) ORDER BY id FOR NO KEY UPDATE;
  PERFORM FROM instances WHERE id = ANY(ids) ORDER BY id FOR NO KEY UPDATE;
  PERFORM peer.set_target_state(account_id, array_agg(instance_id), 'running') FROM bench.rentals WHERE account_id > 1 GROUP BY account_id;
  UPDATE instances SET status = 'running', reason_code = 'STARTED', reason_message = 'The container is up.'
  WHERE id = ANY(ids);
  UPDATE instance_looks SET attempts = 0, due_at = bench.quiet_until(), leased_until = NULL WHERE instance_id = ANY(ids);
  UPDATE gpus g SET occupant_id = holder_id FROM bench.rentals r WHERE g.machine_id = r.machine_id AND r.account_id > 1;
  UPDATE simulated_containers SET down_at = NULL, up_at = now() - interval '1 minute' WHERE instance_id = ANY(ids);
  UPDATE meters m SET rate_nanos = i.gpu_price_nanos, since = greatest(m.since, date_trunc('milliseconds', now())) FROM instances i
  WHERE i.id = m.instance_id AND m.kind = 'gpu' AND m.rate_nanos = 0 AND i.id = ANY(ids);
  UPDATE accounts SET start_failures = 0, start_failed_at = NULL WHERE start_failures > 0;
END $$;
