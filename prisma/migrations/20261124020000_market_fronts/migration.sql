-- A search that begins with no kind of offer reads the front of the whole market in one of these orders, and tests what it
-- can inside of the index.
CREATE INDEX "offers_cheapest" ON "offers" ("price_nanos", "id")
  INCLUDE ("leads", "verified", "gpu_model_id", "num_gpus", "machine_id", "country", "reliability", "listed_until")
  WHERE "withdrawn_at" IS NULL AND "rentable";
CREATE INDEX "offers_cheapest_bids" ON "offers" ("bid_price_nanos", "id")
  INCLUDE ("leads_bids", "verified", "gpu_model_id", "num_gpus", "machine_id", "country", "reliability", "listed_until")
  WHERE "withdrawn_at" IS NULL AND "rentable";
CREATE INDEX "offers_best" ON "offers" ("score" DESC, "price_nanos", "id")
  INCLUDE ("leads", "verified", "gpu_model_id", "num_gpus", "machine_id", "country", "reliability", "listed_until")
  WHERE "withdrawn_at" IS NULL AND "rentable";

-- A search for few machines begins with them. These facts select most.
CREATE INDEX "machines_by_country" ON "machines" (lower("country"));
CREATE INDEX "machines_by_cpu_cores" ON "machines" ("cpu_cores");
CREATE INDEX "machines_by_cpu_ram" ON "machines" ("cpu_ram_mb");
CREATE INDEX "machines_by_download" ON "machines" ("download_mbps");
CREATE INDEX "machines_by_reliability" ON "machines" ("reliability");
CREATE INDEX "machines_by_upload" ON "machines" ("upload_mbps");
