-- CreateTable
CREATE TABLE "failed_starts" (
    "instance_id" BIGINT NOT NULL,
    "account_id" INTEGER NOT NULL,
    "machine_id" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "by_machine" BOOLEAN NOT NULL,

    CONSTRAINT "failed_starts_pkey" PRIMARY KEY ("instance_id")
);

-- CreateIndex
CREATE INDEX "failed_starts_account_id_at_idx" ON "failed_starts"("account_id", "at");

-- CreateIndex
CREATE INDEX "failed_starts_at_idx" ON "failed_starts"("at");
