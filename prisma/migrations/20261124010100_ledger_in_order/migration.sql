-- The entries of an account go on from each other in the order of their ids. A transaction that had not locked the account could
-- get its id first and post last. The next entry would then go on from the wrong one, and be refused for ever.

CREATE OR REPLACE FUNCTION "ledger_entries_balance"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  previous record;
BEGIN
  -- A transaction that has not locked the account waits here. The next statement then sees what others posted meanwhile.
  PERFORM FROM accounts WHERE id = NEW.account_id FOR NO KEY UPDATE;
  SELECT id, balance_after_nanos INTO previous FROM ledger_entries WHERE account_id = NEW.account_id ORDER BY id DESC LIMIT 1;
  IF previous.id >= NEW.id THEN
    RAISE EXCEPTION 'a later entry of account % was posted first', NEW.account_id USING ERRCODE = 'serialization_failure',
      HINT = 'Lock the account before you insert its entries.';
  END IF;
  NEW.balance_after_nanos = NEW.amount_nanos + coalesce(previous.balance_after_nanos, 0);
  RETURN NEW;
END $$;

-- Where that has happened, the balances are written anew in the order of the ids.
ALTER TABLE "ledger_entries" DISABLE TRIGGER "ledger_entries_stay";
UPDATE "ledger_entries" SET "balance_after_nanos" = "balance" FROM (
  SELECT "id" AS "entry_id", sum("amount_nanos") OVER (PARTITION BY "account_id" ORDER BY "id") AS "balance" FROM "ledger_entries"
) AS "entries" WHERE "id" = "entry_id" AND "balance_after_nanos" <> "balance";
ALTER TABLE "ledger_entries" ENABLE TRIGGER "ledger_entries_stay";
