-- A market that changes while it is searched: each change is a transaction. Half of them are new prices of a machine. The others
-- rent one of the cheapest offers of a model and list a machine again whose rental ended, so the fronts that searches read
-- get dead entries.
CREATE TABLE bench.rented_machines (machine_id int PRIMARY KEY, ends_at timestamptz NOT NULL);
CREATE INDEX ON bench.rented_machines (ends_at);

CREATE FUNCTION bench.change_price(changed int, factor float8) RETURNS void LANGUAGE sql AS $$
  UPDATE offers SET gpu_price_nanos = p.gpu, price_nanos = p.gpu + p.disk,
    score = dlperf / ((p.gpu + p.disk)::float8 / 1e9) * reliability
  FROM (
    SELECT id AS offer_id, ceil(gpu_price_nanos * factor)::bigint AS gpu,
      bench.disk_price_per_hour(disk_price_per_gb_month_nanos, 8000) AS disk
    FROM offers WHERE machine_id = changed AND withdrawn_at IS NULL
  ) p WHERE id = p.offer_id
$$;

CREATE FUNCTION bench.rent_cheap(model text, gpus int, skipped int) RETURNS void LANGUAGE sql AS $$
  WITH rented AS MATERIALIZED (
    SELECT o.machine_id FROM offers o WHERE o.withdrawn_at IS NULL AND o.rentable AND o.verified AND o.num_gpus = gpus
      AND o.gpu_model_id = (SELECT id FROM gpu_models WHERE name = model) ORDER BY o.price_nanos LIMIT 1 OFFSET skipped
  ), ends AS (
    INSERT INTO bench.rented_machines SELECT machine_id, now() + interval '10 seconds' FROM rented ON CONFLICT DO NOTHING
  )
  UPDATE offers o SET rentable = false, leads = false, leads_bids = false,
    withdrawn_at = CASE WHEN o.num_gpus = m.num_gpus THEN now() END
  FROM rented JOIN machines m ON m.id = rented.machine_id WHERE o.machine_id = m.id AND o.withdrawn_at IS NULL
$$;

CREATE FUNCTION bench.end_rental() RETURNS void LANGUAGE sql AS $$
  WITH ended AS (
    DELETE FROM bench.rented_machines WHERE machine_id = (
      SELECT machine_id FROM bench.rented_machines WHERE ends_at < now() ORDER BY ends_at LIMIT 1
    ) RETURNING machine_id
  )
  SELECT bench.update_offers(ARRAY[machine_id]) FROM ended
$$;

CREATE PROCEDURE bench.change_market(changes int) LANGUAGE plpgsql AS $$
DECLARE
  machines int := (SELECT s.machines FROM bench.size s);
  models text[] := '{RTX 3090,RTX 4090,RTX 5090,RTX A6000,L40S,A100 SXM4,H100 SXM,H200}';
BEGIN
  FOR change IN 1 .. changes LOOP
    IF change % 2 = 0 THEN
      PERFORM bench.change_price(1 + floor(random() * machines)::int, 0.95 + 0.1 * random());
    ELSE
      PERFORM bench.end_rental();
      PERFORM bench.rent_cheap(models[1 + floor(random() * 8)::int], 1 << floor(random() * 4)::int, floor(random() * 20)::int);
    END IF;
    COMMIT;
  END LOOP;
END $$;
