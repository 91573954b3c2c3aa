-- Versions are text, exactly as hosts write them: 12.10 is not 12.1. No CUDA, and an unknown version of Ubuntu, is NULL.
-- Stored numbers become the text that they were shown as.

-- The rules of domain/machines/versions.ts: versionKeyOf, versionNumberOf and driverVersionNumberOf.
CREATE FUNCTION "version_key"("version" text) RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN string_to_array(regexp_replace(coalesce("version", ''), '(\.0+)+$', ''), '.')::int[];
CREATE FUNCTION "version_number"("version" text) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN coalesce(substring("version" FROM '^\d+(?:\.\d+)?')::double precision, 0);
CREATE FUNCTION "driver_version_number"("version" text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN split_part("version", '.', 1)::bigint * 1000000
    + coalesce(nullif(split_part("version", '.', 2), '')::bigint, 0) * 1000
    + coalesce(nullif(split_part("version", '.', 3), '')::bigint, 0);

ALTER TABLE "machines" DROP CONSTRAINT "machines_are_finite";
ALTER TABLE "gpu_models" DROP CONSTRAINT "gpu_models_sizes";

-- The number with at least this many decimal places, or NULL if it is 0.
CREATE FUNCTION "version_of_number"("number" numeric, "places" int) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN nullif(round("number", greatest("places", least(scale(trim_scale("number")), 9))), 0)::text;
CREATE FUNCTION "driver_version_of_number"("number" int, "model" int) RETURNS text LANGUAGE sql STABLE
  RETURN concat_ws('.', "number" / 1000000, "number" / 1000 % 1000,
    CASE WHEN (SELECT "vendor" FROM "gpu_models" WHERE "id" = "model") = 'nvidia' AND "number" % 1000 < 10 THEN '0' ELSE '' END
      || "number" % 1000);

ALTER TABLE "machines"
  ALTER COLUMN "cuda_version" DROP NOT NULL,
  ALTER COLUMN "cuda_version" TYPE text USING "version_of_number"("cuda_version"::numeric, 1),
  ALTER COLUMN "driver_version" TYPE text USING "driver_version_of_number"("driver_version", "gpu_model_id"),
  ALTER COLUMN "os_version" DROP NOT NULL,
  ALTER COLUMN "os_version" TYPE text USING "version_of_number"("os_version"::numeric, 2);
ALTER TABLE "gpu_models"
  ALTER COLUMN "compute_capability" DROP NOT NULL,
  ALTER COLUMN "compute_capability" TYPE text USING "version_of_number"("compute_capability" / 100.0, 1);

DROP FUNCTION "version_of_number", "driver_version_of_number";

ALTER TABLE "machines"
  ADD CONSTRAINT "machines_are_finite" CHECK (
    least("nvlink_gigabytes_per_second", "pci_generation", "pcie_gigabytes_per_second", "cpu_ghz",
      "disk_read_megabytes_per_second", "download_mbps", "upload_mbps") >= 0
    AND greatest("nvlink_gigabytes_per_second", "pci_generation", "pcie_gigabytes_per_second", "cpu_ghz",
      "disk_read_megabytes_per_second", "download_mbps", "upload_mbps", "dlperf_per_gpu") < 'Infinity'
    AND "gpu_max_temp_celsius" BETWEEN -273.15 AND 1000
  ),
  ADD CONSTRAINT "machines_versions" CHECK (
    "cuda_version" ~ '^\d{1,9}(\.\d{1,9}){0,3}$' AND "os_version" ~ '^\d{1,9}(\.\d{1,9}){0,3}$'
    AND "driver_version" ~ '^\d{1,4}(\.\d{1,3}){0,2}$'
  );
-- REST shows the compute capability times 100, as an integer.
ALTER TABLE "gpu_models"
  ADD CONSTRAINT "gpu_models_sizes" CHECK ("ram_mb" > 0 AND "tflops" > 0),
  ADD CONSTRAINT "gpu_models_versions" CHECK ("compute_capability" ~ '^\d{1,3}(\.\d{1,2})?$');

-- Searches compare by the key.
CREATE INDEX "machines_by_cuda_version" ON "machines" ("version_key"("cuda_version"));
CREATE INDEX "machines_by_driver_version" ON "machines" ("version_key"("driver_version"));
CREATE INDEX "machines_by_os_version" ON "machines" ("version_key"("os_version"));
