-- Almost no entry has an idempotency key, and few meters are of volumes. Unique indexes of both contained every row, only to
-- say that it has none.
DROP INDEX "ledger_entries_account_id_idempotency_key_key";
CREATE UNIQUE INDEX "ledger_entries_account_id_idempotency_key_key" ON "ledger_entries" ("account_id", "idempotency_key")
  WHERE "idempotency_key" IS NOT NULL;
DROP INDEX "meters_volume_id_kind_key";
CREATE UNIQUE INDEX "meters_volume_id_kind_key" ON "meters" ("volume_id", "kind") WHERE "volume_id" IS NOT NULL;
