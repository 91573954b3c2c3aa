-- Free text on an entry is a note; a reason is a code.
ALTER TABLE "ledger_entries" RENAME COLUMN "reason" TO "note";
