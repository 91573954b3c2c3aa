-- CreateTable
CREATE TABLE "results" (
    "token_hash" BYTEA NOT NULL,
    "account_id" INTEGER NOT NULL,
    "text" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "results_pkey" PRIMARY KEY ("token_hash")
);

-- CreateIndex
CREATE INDEX "results_account_id_expires_at_idx" ON "results"("account_id", "expires_at");

-- CreateIndex
CREATE INDEX "results_expires_at_idx" ON "results"("expires_at");

-- AddForeignKey
ALTER TABLE "results" ADD CONSTRAINT "results_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
