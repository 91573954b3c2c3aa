-- CreateEnum
CREATE TYPE "verification" AS ENUM ('verified', 'unverified', 'deverified');

-- CreateTable
CREATE TABLE "accounts" (
    "id" SERIAL NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL DEFAULT '',
    "posted_nanos" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL DEFAULT '',
    "public_id" TEXT NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "permissions" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "gpu_models" (
    "id" SERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "architecture" TEXT NOT NULL,
    "ram_mb" INTEGER NOT NULL,
    "memory_bandwidth_gbps" DOUBLE PRECISION NOT NULL,
    "tflops" DOUBLE PRECISION NOT NULL,
    "max_power_watts" DOUBLE PRECISION NOT NULL,
    "compute_capability" INTEGER NOT NULL,

    CONSTRAINT "gpu_models_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "machines" (
    "id" SERIAL NOT NULL,
    "host_id" INTEGER NOT NULL,
    "gpu_model_id" INTEGER NOT NULL,
    "num_gpus" INTEGER NOT NULL,
    "dlperf_per_gpu" DOUBLE PRECISION NOT NULL,
    "gpu_max_temp_celsius" DOUBLE PRECISION NOT NULL,
    "gpu_display_active" BOOLEAN NOT NULL,
    "gpu_lanes" INTEGER NOT NULL,
    "nvlink_gbps" DOUBLE PRECISION NOT NULL,
    "pci_generation" DOUBLE PRECISION NOT NULL,
    "pcie_gbps" DOUBLE PRECISION NOT NULL,
    "cuda_version" DOUBLE PRECISION NOT NULL,
    "driver_version" INTEGER NOT NULL,
    "cpu_name" TEXT NOT NULL,
    "cpu_arch" TEXT NOT NULL,
    "cpu_cores" INTEGER NOT NULL,
    "cpu_ghz" DOUBLE PRECISION NOT NULL,
    "cpu_ram_mb" INTEGER NOT NULL,
    "has_avx" BOOLEAN NOT NULL,
    "motherboard" TEXT NOT NULL,
    "os_version" DOUBLE PRECISION NOT NULL,
    "disk_name" TEXT NOT NULL,
    "disk_mbps" DOUBLE PRECISION NOT NULL,
    "disk_mb" INTEGER NOT NULL,
    "free_disk_mb" INTEGER NOT NULL,
    "download_mbps" DOUBLE PRECISION NOT NULL,
    "upload_mbps" DOUBLE PRECISION NOT NULL,
    "public_ip" TEXT NOT NULL,
    "static_ip" BOOLEAN NOT NULL,
    "first_port" INTEGER NOT NULL,
    "last_port" INTEGER NOT NULL,
    "free_ports" INTEGER NOT NULL,
    "country" TEXT NOT NULL,
    "city" TEXT NOT NULL,
    "datacenter" BOOLEAN NOT NULL,
    "vms_enabled" BOOLEAN NOT NULL,
    "verification" "verification" NOT NULL,
    "reliability" DOUBLE PRECISION NOT NULL,
    "gpu_nanos" BIGINT NOT NULL,
    "min_bid_gpu_nanos" BIGINT NOT NULL,
    "storage_nanos" BIGINT NOT NULL,
    "download_nanos" BIGINT NOT NULL,
    "upload_nanos" BIGINT NOT NULL,
    "listed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "listed_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "machines_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "gpus" (
    "machine_id" INTEGER NOT NULL,
    "index" INTEGER NOT NULL,
    "holder_id" BIGINT,
    "occupant_id" BIGINT,

    CONSTRAINT "gpus_pkey" PRIMARY KEY ("machine_id","index")
);

-- CreateTable
CREATE TABLE "offer_kinds" (
    "gpu_model_id" INTEGER NOT NULL,
    "num_gpus" INTEGER NOT NULL,

    CONSTRAINT "offer_kinds_pkey" PRIMARY KEY ("gpu_model_id","num_gpus")
);

-- CreateTable
CREATE TABLE "offers" (
    "id" BIGSERIAL NOT NULL,
    "machine_id" INTEGER NOT NULL,
    "first_gpu" INTEGER NOT NULL,
    "num_gpus" INTEGER NOT NULL,
    "gpu_model_id" INTEGER NOT NULL,
    "country" TEXT NOT NULL,
    "verified" BOOLEAN NOT NULL,
    "reliability" DOUBLE PRECISION NOT NULL,
    "listed_until" TIMESTAMPTZ(3) NOT NULL,
    "storage_nanos" BIGINT NOT NULL,
    "compute_nanos" BIGINT NOT NULL,
    "price_nanos" BIGINT NOT NULL,
    "min_bid_nanos" BIGINT NOT NULL,
    "bid_price_nanos" BIGINT NOT NULL,
    "dlperf" DOUBLE PRECISION NOT NULL,
    "score" DOUBLE PRECISION NOT NULL,
    "rentable" BOOLEAN NOT NULL,
    "leads" BOOLEAN NOT NULL,
    "leads_bids" BOOLEAN NOT NULL,
    "listed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "withdrawn_at" TIMESTAMPTZ(3),

    CONSTRAINT "offers_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "accounts_email_key" ON "accounts"("email");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_public_id_key" ON "api_keys"("public_id");

-- CreateIndex
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "gpu_models_name_key" ON "gpu_models"("name");

-- CreateIndex
CREATE INDEX "machines_host_id_idx" ON "machines"("host_id");

-- CreateIndex
CREATE INDEX "machines_gpu_model_id_idx" ON "machines"("gpu_model_id");

-- CreateIndex
CREATE INDEX "machines_storage_nanos_idx" ON "machines"("storage_nanos");

-- CreateIndex
CREATE INDEX "offers_machine_id_idx" ON "offers"("machine_id");

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "machines" ADD CONSTRAINT "machines_host_id_fkey" FOREIGN KEY ("host_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "machines" ADD CONSTRAINT "machines_gpu_model_id_fkey" FOREIGN KEY ("gpu_model_id") REFERENCES "gpu_models"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "gpus" ADD CONSTRAINT "gpus_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "offer_kinds" ADD CONSTRAINT "offer_kinds_gpu_model_id_fkey" FOREIGN KEY ("gpu_model_id") REFERENCES "gpu_models"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "offers" ADD CONSTRAINT "offers_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "offers" ADD CONSTRAINT "offers_gpu_model_id_num_gpus_fkey" FOREIGN KEY ("gpu_model_id", "num_gpus") REFERENCES "offer_kinds"("gpu_model_id", "num_gpus") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the schema language cannot say.

ALTER TABLE "accounts"
  ADD CONSTRAINT "accounts_email_is_lower_case" CHECK ("email" = lower("email"));

ALTER TABLE "api_keys"
  ADD CONSTRAINT "api_keys_secret_hash_is_sha256" CHECK (octet_length("secret_hash") = 32),
  ADD CONSTRAINT "api_keys_permissions_are_an_object" CHECK (jsonb_typeof("permissions") = 'object');

ALTER TABLE "gpu_models"
  ADD CONSTRAINT "gpu_models_architecture_is_known" CHECK ("architecture" IN ('nvidia', 'amd')),
  ADD CONSTRAINT "gpu_models_sizes" CHECK ("ram_mb" > 0 AND "tflops" > 0 AND "compute_capability" >= 0);

ALTER TABLE "machines"
  ADD CONSTRAINT "machines_num_gpus" CHECK ("num_gpus" BETWEEN 1 AND 16),
  ADD CONSTRAINT "machines_sizes" CHECK ("cpu_cores" > 0 AND "cpu_ram_mb" > 0 AND "disk_mb" > 0 AND "dlperf_per_gpu" > 0),
  ADD CONSTRAINT "machines_free_disk" CHECK ("free_disk_mb" BETWEEN 0 AND "disk_mb"),
  ADD CONSTRAINT "machines_ports" CHECK ("first_port" > 0 AND "last_port" < 65536),
  ADD CONSTRAINT "machines_free_ports" CHECK ("free_ports" BETWEEN 0 AND "last_port" - "first_port" + 1),
  ADD CONSTRAINT "machines_country" CHECK ("country" ~ '^[A-Z]{2}$'),
  ADD CONSTRAINT "machines_reliability" CHECK ("reliability" BETWEEN 0 AND 1),
  -- At most 1000 $ an hour and 10 $ a GB: with those, no sum or product of prices leaves eight bytes.
  ADD CONSTRAINT "machines_prices" CHECK (
    "gpu_nanos" BETWEEN 1 AND 1000000000000 AND "min_bid_gpu_nanos" BETWEEN 1 AND "gpu_nanos"
    AND "storage_nanos" BETWEEN 0 AND 10000000000 AND "download_nanos" >= 0 AND "upload_nanos" >= 0
  );

ALTER TABLE "gpus"
  ADD CONSTRAINT "gpus_index" CHECK ("index" BETWEEN 0 AND 15);

-- The price with the default disk of 8 GB is stored for the order of searches. It follows from the two prices that it
-- is made of: 8000 thousandths of a GB for 720 hours, rounded half up.
ALTER TABLE "offers"
  ADD CONSTRAINT "offers_block" CHECK ("first_gpu" >= 0 AND "num_gpus" > 0 AND "first_gpu" + "num_gpus" <= 16),
  ADD CONSTRAINT "offers_price" CHECK ("price_nanos" = "compute_nanos" + ("storage_nanos" * 8000 + 360000) / 720000),
  ADD CONSTRAINT "offers_bid_price" CHECK ("bid_price_nanos" = "min_bid_nanos" + ("storage_nanos" * 8000 + 360000) / 720000),
  ADD CONSTRAINT "offers_prices" CHECK ("compute_nanos" > 0 AND "min_bid_nanos" > 0 AND "storage_nanos" >= 0 AND "score" >= 0),
  ADD CONSTRAINT "offers_withdrawn_are_not_rentable" CHECK ("withdrawn_at" IS NULL OR NOT "rentable");

-- A block is listed once.
CREATE UNIQUE INDEX "offers_current_block" ON "offers" ("machine_id", "first_gpu", "num_gpus") WHERE "withdrawn_at" IS NULL;

-- A search reads, for each kind of offer, the front of one range of one of these, and tests what it can inside of it.
CREATE INDEX "offers_by_price" ON "offers" ("rentable", "verified", "gpu_model_id", "num_gpus", "price_nanos", "id")
  INCLUDE ("leads", "machine_id", "country", "reliability", "listed_until", "compute_nanos", "storage_nanos", "dlperf")
  WHERE "withdrawn_at" IS NULL;
CREATE INDEX "offers_by_bid" ON "offers" ("rentable", "verified", "gpu_model_id", "num_gpus", "bid_price_nanos", "id")
  INCLUDE ("leads_bids", "machine_id", "country", "reliability", "listed_until", "min_bid_nanos", "storage_nanos")
  WHERE "withdrawn_at" IS NULL;
CREATE INDEX "offers_by_score" ON "offers" ("rentable", "verified", "gpu_model_id", "num_gpus", "score" DESC, "price_nanos", "id")
  INCLUDE ("leads", "machine_id", "country", "reliability", "listed_until", "compute_nanos", "storage_nanos")
  WHERE "withdrawn_at" IS NULL;

-- Renting rewrites rows of these; room on the page keeps the new version beside the old.
ALTER TABLE "offers" SET (fillfactor = 85);
ALTER TABLE "machines" SET (fillfactor = 85);
