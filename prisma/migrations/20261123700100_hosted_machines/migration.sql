-- DropIndex
DROP INDEX "machines_host_id_idx";

-- CreateIndex
CREATE INDEX "machines_host_id_id_idx" ON "machines"("host_id", "id");
