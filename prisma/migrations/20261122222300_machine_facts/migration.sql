-- What was called architecture is the vendor.
ALTER TABLE "gpu_models" RENAME COLUMN "architecture" TO "vendor";
ALTER TABLE "gpu_models" RENAME CONSTRAINT "gpu_models_architecture_is_known" TO "gpu_models_vendor_is_known";
