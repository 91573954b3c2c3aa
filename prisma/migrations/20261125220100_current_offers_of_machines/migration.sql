-- Searches that begin with machines and counts read what they check of a machine's offers in the index, not in their rows.
DROP INDEX "offers_current_block";
CREATE UNIQUE INDEX "offers_current_block" ON "offers" ("machine_id", "first_gpu", "num_gpus")
  INCLUDE ("id", "gpu_model_id", "rentable", "leads", "leads_bids", "listed_until", "price_nanos") WHERE "withdrawn_at" IS NULL;
