-- CreateIndex
CREATE INDEX "ledger_entries_account_id_posted_at_idx" ON "ledger_entries"("account_id", "posted_at");

-- What was granted and given back is found without reading all charges between.
CREATE INDEX "ledger_entries_payments" ON "ledger_entries" ("account_id", "id") WHERE "kind" IN ('top_up', 'refund', 'adjustment');
