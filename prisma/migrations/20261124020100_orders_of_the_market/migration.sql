-- Searches in the order of performance read the front of the whole market, too.
CREATE INDEX "offers_fastest" ON "offers" ("dlperf" DESC, "price_nanos", "id") INCLUDE ("leads", "machine_id", "listed_until")
  WHERE "withdrawn_at" IS NULL AND "rentable";
CREATE INDEX "offers_fastest_per_dollar" ON "offers" (("dlperf" / ("price_nanos"::float8 / 1e9)) DESC, "price_nanos", "id")
  INCLUDE ("leads", "machine_id", "listed_until") WHERE "withdrawn_at" IS NULL AND "rentable";

-- Searches in the order of a fact begin with the machines that come first. No rental changes these facts.
CREATE INDEX "machines_by_cpu_ghz" ON "machines" ("cpu_ghz");
CREATE INDEX "machines_by_disk" ON "machines" (("disk_mb"::float8 / 1000));
CREATE INDEX "machines_by_disk_read" ON "machines" ("disk_read_megabytes_per_second");
CREATE INDEX "machines_by_download_price" ON "machines" ("download_price_per_gb_nanos");
CREATE INDEX "machines_by_gpu_lanes" ON "machines" ("gpu_lanes");
CREATE INDEX "machines_by_nvlink" ON "machines" ("nvlink_gigabytes_per_second");
CREATE INDEX "machines_by_pci_generation" ON "machines" ("pci_generation");
CREATE INDEX "machines_by_pcie" ON "machines" ("pcie_gigabytes_per_second");
CREATE INDEX "machines_by_temperature" ON "machines" ("gpu_max_temp_celsius");
CREATE INDEX "machines_by_upload_price" ON "machines" ("upload_price_per_gb_nanos");
