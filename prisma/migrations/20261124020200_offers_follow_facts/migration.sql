-- Searches filter by copies of facts or by the facts themselves, whichever reads less, so the two must never differ. Prices
-- and scores that include a fact follow it.
CREATE FUNCTION "machines_pass_facts"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  disk bigint := (NEW."disk_price_per_gb_month_nanos" * 8000 + 360000) / 720000;
BEGIN
  UPDATE "offers" SET "country" = NEW."country", "verified" = NEW."verification" = 'verified', "reliability" = NEW."reliability",
    "listed_until" = NEW."listed_until", "disk_price_per_gb_month_nanos" = NEW."disk_price_per_gb_month_nanos",
    "price_nanos" = "gpu_price_nanos" + disk, "bid_price_nanos" = "min_bid_nanos" + disk,
    "score" = "dlperf" / (("gpu_price_nanos" + disk)::float8 / 1e9) * NEW."reliability"
  WHERE "machine_id" = NEW."id" AND "withdrawn_at" IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER "machines_pass_facts" AFTER UPDATE OF "country", "verification", "reliability", "listed_until",
  "disk_price_per_gb_month_nanos" ON "machines" FOR EACH ROW
  WHEN ((OLD."country", OLD."verification", OLD."reliability", OLD."listed_until", OLD."disk_price_per_gb_month_nanos")
    IS DISTINCT FROM (NEW."country", NEW."verification", NEW."reliability", NEW."listed_until", NEW."disk_price_per_gb_month_nanos"))
  EXECUTE FUNCTION "machines_pass_facts"();
