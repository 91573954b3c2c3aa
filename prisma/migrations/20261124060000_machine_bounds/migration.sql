-- Searches in the order of free ports, of the share of a machine, or of the time until which it is listed begin with the
-- machines that can come first. No rental changes what these indexes hold.
CREATE INDEX "machines_by_listed_until" ON "machines" ("listed_until");
CREATE INDEX "machines_by_ports" ON "machines" (("last_port" - "first_port" + 1));
CREATE INDEX "machines_by_least_share" ON "machines" ((1::float8 / "num_gpus"));
CREATE INDEX "machines_by_cores_per_gpu" ON "machines" (("cpu_cores"::float8 / "num_gpus"));
