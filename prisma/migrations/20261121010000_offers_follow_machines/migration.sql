-- DropForeignKey
ALTER TABLE "offers" DROP CONSTRAINT "offers_machine_id_fkey";

-- CreateIndex
CREATE UNIQUE INDEX "machines_id_gpu_model_id_key" ON "machines"("id", "gpu_model_id");

-- AddForeignKey
ALTER TABLE "offers" ADD CONSTRAINT "offers_machine_id_gpu_model_id_fkey" FOREIGN KEY ("machine_id", "gpu_model_id") REFERENCES "machines"("id", "gpu_model_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Floats are numbers: below infinity excludes NaN too, which PostgreSQL orders after everything.
ALTER TABLE "gpu_models"
  ADD CONSTRAINT "gpu_models_are_finite" CHECK (
    least("memory_bandwidth_gbps", "max_power_watts") >= 0
    AND greatest("memory_bandwidth_gbps", "max_power_watts", "tflops") < 'Infinity'
  );

ALTER TABLE "machines"
  ADD CONSTRAINT "machines_are_finite" CHECK (
    least("nvlink_gbps", "pci_generation", "pcie_gbps", "cuda_version", "cpu_ghz", "os_version", "disk_mbps",
      "download_mbps", "upload_mbps") >= 0
    AND greatest("nvlink_gbps", "pci_generation", "pcie_gbps", "cuda_version", "cpu_ghz", "os_version", "disk_mbps",
      "download_mbps", "upload_mbps", "dlperf_per_gpu") < 'Infinity'
    AND "gpu_max_temp_celsius" BETWEEN -273.15 AND 1000
  ),
  ADD CONSTRAINT "machines_traffic_prices" CHECK ("download_nanos" <= 10000000000 AND "upload_nanos" <= 10000000000);

-- 16 GPUs at the highest price, and bids far beyond it: their sums and products with disks stay within eight bytes.
ALTER TABLE "offers"
  ADD CONSTRAINT "offers_are_finite" CHECK ("dlperf" > 0 AND "dlperf" < 'Infinity' AND "score" < 'Infinity'),
  ADD CONSTRAINT "offers_highest_prices" CHECK (
    "compute_nanos" <= 16000000000000 AND "min_bid_nanos" <= 1000000000000000 AND "storage_nanos" <= 10000000000
  );
