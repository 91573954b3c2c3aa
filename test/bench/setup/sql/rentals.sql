-- Running instances with their containers, volumes, ports, keys, charges and events, one to a machine. Account 1 has
-- `bench.size.largest` of them, and each of the next `bench.size.fleets` accounts has 64.

-- The reconciler looks at each instance again only after the bench, so that no run pays for it: see docs/bench.md.
CREATE FUNCTION bench.quiet_until() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT now() + interval '1 day' $$;

CREATE TABLE bench.rentals AS
SELECT place, (CASE WHEN place <= largest THEN 1 ELSE 2 + (place - largest - 1) / 64 END)::int AS account_id,
  nextval('instances_id_seq') AS instance_id, o.id AS offer_id, o.machine_id, o.first_gpu, o.num_gpus, o.gpu_price_nanos,
  8000 + 1000 * bench.whole('rented disk', place, 0, 92) AS disk_mb, bench.share('volume', place) < 0.5 AS has_volume,
  bench.share('template', place) < 0.7 AS has_template,
  date_trunc('milliseconds', now() - bench.whole('age', place, 2, 720) * interval '1 hour') AS created_at
FROM bench.size
CROSS JOIN LATERAL (SELECT m.*, row_number() OVER (ORDER BY bench.share('rented', id)) AS place FROM machines m) m
JOIN offers o ON o.machine_id = m.id AND o.first_gpu = 0
  AND o.num_gpus = CASE WHEN bench.share('whole', place) < 0.5 THEN m.num_gpus ELSE 1 END
WHERE place <= largest + fleets * 64
ORDER BY place;

UPDATE offers o SET rentable = false, withdrawn_at = r.created_at FROM bench.rentals r WHERE o.id = r.offer_id;

INSERT INTO instances (id, account_id, api_key_id, machine_id, offer_id, first_gpu, num_gpus, label, vm, template_id,
  template_hash, launch, disk_mb, interruptible, gpu_price_nanos, disk_price_per_gb_month_nanos, disk_nanos, target_state,
  claimed_at, status, reason_code, reason_message, status_changed_at, policy_due_at, created_at,
  started_at, ends_at)
SELECT r.instance_id, r.account_id, k.id, r.machine_id, r.offer_id, r.first_gpu, r.num_gpus,
  CASE WHEN bench.share('labeled', r.place) < 0.5 THEN format('job %s', r.place % 20) END, false, t.id, t.hash_id,
  jsonb_build_object('env', '[{"name": "A", "value": "1"}]'::jsonb, 'lab', false, 'args', '[]'::jsonb, 'mode', 'sshDirect',
    'image', 'ubuntu', 'ports', '[{"hostPort": 22, "protocol": "tcp", "containerPort": 22}]'::jsonb, 'onStart', NULL,
    'sources', '{"mode": "request", "env.A": "request", "image": "request", "ports.22:22": "request"}'::jsonb,
    'hostname', NULL, 'directory', NULL),
  r.disk_mb, false, r.gpu_price_nanos, m.disk_price_per_gb_month_nanos,
  bench.disk_price_per_hour(m.disk_price_per_gb_month_nanos, r.disk_mb), 'running', r.created_at, 'running', 'STARTED',
  'The container is up.', r.created_at + interval '1 minute',
  m.listed_until - interval '24 hours', r.created_at, r.created_at + interval '1 minute', m.listed_until
FROM bench.rentals r JOIN machines m ON m.id = r.machine_id JOIN api_keys k ON k.account_id = r.account_id
LEFT JOIN templates t ON t.account_id = r.account_id AND r.has_template
ORDER BY r.place;

UPDATE instance_looks SET generation = 2, due_at = bench.quiet_until(), seen_at = now();

UPDATE gpus g SET holder_id = r.instance_id, occupant_id = r.instance_id FROM bench.rentals r
WHERE g.machine_id = r.machine_id AND g.index >= r.first_gpu AND g.index < r.first_gpu + r.num_gpus;

INSERT INTO port_bindings (machine_id, host_port, instance_id, container_port, protocol)
SELECT machine_id, 20000, instance_id, 22, 'tcp' FROM bench.rentals;

INSERT INTO instance_ssh_keys (instance_id, ssh_key_id)
SELECT r.instance_id, s.id FROM bench.rentals r JOIN ssh_keys s ON s.account_id = r.account_id;

INSERT INTO volumes (account_id, machine_id, name, size_mb, disk_price_per_gb_month_nanos, disk_nanos, created_at)
SELECT r.account_id, m.id, 'data', 10000, m.disk_price_per_gb_month_nanos,
  bench.disk_price_per_hour(m.disk_price_per_gb_month_nanos, 10000), r.created_at
FROM bench.rentals r JOIN machines m ON m.id = r.machine_id WHERE r.has_volume ORDER BY r.place;
INSERT INTO volume_attachments (volume_id, instance_id, machine_id, account_id, mount_path)
SELECT v.id, r.instance_id, r.machine_id, r.account_id, '/data' FROM volumes v JOIN bench.rentals r USING (machine_id);

UPDATE machines m SET free_ports = free_ports - 1,
  free_disk_mb = m.free_disk_mb - r.disk_mb - CASE WHEN r.has_volume THEN 10000 ELSE 0 END
FROM bench.rentals r WHERE m.id = r.machine_id;
SELECT bench.update_offers(array_agg(machine_id)) FROM bench.rentals;

INSERT INTO meters (account_id, api_key_id, instance_id, volume_id, kind, rate_nanos, since, ends_at)
SELECT account_id, api_key_id, id, NULL::bigint, 'gpu'::charge_kind, gpu_price_nanos, date_trunc('milliseconds', now()), ends_at FROM instances
UNION ALL SELECT account_id, api_key_id, id, NULL, 'disk', disk_nanos, date_trunc('milliseconds', now()), ends_at FROM instances
UNION ALL SELECT v.account_id, k.id, NULL, v.id, 'disk', v.disk_nanos, date_trunc('milliseconds', now()), NULL
FROM volumes v JOIN api_keys k ON k.account_id = v.account_id;

INSERT INTO simulated_containers (instance_id, machine_id, prepared_at, up_at, ssh_keys, script, log)
SELECT i.id, i.machine_id, i.created_at, i.started_at, ARRAY[s.public_key],
  jsonb_build_object('env', i.launch -> 'env', 'args', '[]'::jsonb, 'gpus', '[0]'::jsonb, 'mode', 'sshDirect', 'image', 'ubuntu',
    'diskMb', i.disk_mb, 'script', '{"pullMs": 13845, "stopMs": 2000, "startMs": 3000}'::jsonb, 'onStart', NULL,
    'hostname', format('berth-%s', i.id)), '[]'
FROM instances i JOIN ssh_keys s ON s.account_id = i.account_id;

INSERT INTO events (kind, account_id, instance_id, actor_kind, api_key_id, subject_type, subject_id, after, reason, created_at)
SELECT 'INSTANCE_CREATED', account_id, id, 'api_key', api_key_id, 'Instance', id,
  jsonb_build_object('offerId', offer_id::text, 'machineId', machine_id, 'diskMb', disk_mb), 'USER_REQUEST', created_at
FROM instances ORDER BY created_at;
