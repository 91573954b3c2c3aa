-- Helpers of the generated market. The gateway does not use them.
CREATE SCHEMA bench;

-- A number from 0 to 1 that depends on the label and the index alone, so each run makes the same market.
CREATE FUNCTION bench.share(label text, index bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
  SELECT (hashint8extended(index, hashtext(label)) & 9007199254740991) / 9007199254740992.0::float8
$$;

CREATE FUNCTION bench.whole(label text, index bigint, low int, high int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT low + floor(bench.share(label, index) * (high - low + 1))::int
$$;

CREATE FUNCTION bench.pick(label text, index bigint, choices text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT choices[bench.whole(label, index, 1, cardinality(choices))]
$$;

-- The blocks of a machine that can be rented: the whole machine, and every aligned power of two.
CREATE TABLE bench.blocks (of_gpus int, place int, first_gpu int, num_gpus int, PRIMARY KEY (of_gpus, place));
INSERT INTO bench.blocks
SELECT of_gpus, row_number() OVER (PARTITION BY of_gpus ORDER BY num_gpus <> of_gpus, num_gpus, first_gpu), first_gpu, num_gpus
FROM unnest('{1,2,4,8}'::int[]) of_gpus
CROSS JOIN unnest('{1,2,4,8}'::int[]) num_gpus
CROSS JOIN LATERAL generate_series(0, of_gpus - num_gpus, num_gpus) first_gpu;

CREATE FUNCTION bench.disk_price_per_hour(price_per_gb_month_nanos bigint, disk_mb int) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT (price_per_gb_month_nanos * disk_mb + 360000) / 720000
$$;

-- Lists an offer for every free block of the machines, and marks which offers can be rented. The same rule as
-- `planOffers` in src/domain/machines/market.ts for a market without bids.
CREATE FUNCTION bench.update_offers(machine_ids int[]) RETURNS void LANGUAGE sql AS $$
  WITH states AS (
    SELECT m.id AS machine_id, b.place, b.first_gpu, b.num_gpus, o.id AS offer_id,
      m.free_disk_mb >= 8000 AND m.drained_at IS NULL AND m.unconfirmed_at IS NULL AND (
        SELECT count(*) FROM gpus g WHERE g.machine_id = m.id AND g.holder_id IS NOT NULL
        AND g.index >= b.first_gpu AND g.index < b.first_gpu + b.num_gpus
      ) = 0 AS rentable
    FROM machines m JOIN bench.blocks b ON b.of_gpus = m.num_gpus
    LEFT JOIN offers o ON o.machine_id = m.id AND o.first_gpu = b.first_gpu AND o.num_gpus = b.num_gpus
      AND o.withdrawn_at IS NULL
    WHERE m.id = ANY(machine_ids)
  ), planned AS (
    SELECT *, row_number() OVER (
      PARTITION BY machine_id, num_gpus, rentable ORDER BY offer_id NULLS LAST, place
    ) = 1 AS leads
    FROM states WHERE offer_id IS NOT NULL OR rentable
  ), changed AS (
    UPDATE offers o SET rentable = p.rentable, leads = p.leads, leads_bids = p.leads FROM planned p
    WHERE o.id = p.offer_id AND (o.rentable, o.leads) <> (p.rentable, p.leads)
  )
  INSERT INTO offers (machine_id, first_gpu, num_gpus, gpu_model_id, country, verified, reliability, listed_until,
    disk_price_per_gb_month_nanos, gpu_price_nanos, price_nanos, min_bid_nanos, bid_price_nanos, dlperf, score,
    rentable, leads, leads_bids)
  SELECT m.id, p.first_gpu, p.num_gpus, m.gpu_model_id, m.country, m.verification = 'verified', m.reliability, m.listed_until,
    m.disk_price_per_gb_month_nanos, price.gpu, price.gpu + price.disk, price.bid, price.bid + price.disk,
    m.dlperf_per_gpu * p.num_gpus,
    m.dlperf_per_gpu * p.num_gpus / ((price.gpu + price.disk)::float8 / 1e9) * m.reliability,
    p.rentable, p.leads, p.leads
  FROM planned p JOIN machines m ON m.id = p.machine_id
  CROSS JOIN LATERAL (SELECT m.gpu_nanos * p.num_gpus AS gpu, m.min_bid_gpu_nanos * p.num_gpus AS bid,
    bench.disk_price_per_hour(m.disk_price_per_gb_month_nanos, 8000) AS disk) price
  WHERE p.offer_id IS NULL ORDER BY m.id, p.place
$$;
