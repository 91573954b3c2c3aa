-- The ledger posts the entries of a statement together. It writes each account once and each meter once, and refuses the
-- same entries as before.

-- Numbers each entry's balance on from the entry before it, which may be of the same statement.
CREATE FUNCTION "ledger_entries_balance"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A transaction that has not locked the account waits here. The next statement then sees what others posted meanwhile.
  PERFORM FROM accounts WHERE id = NEW.account_id FOR NO KEY UPDATE;
  NEW.balance_after_nanos = NEW.amount_nanos + coalesce(
    (SELECT balance_after_nanos FROM ledger_entries WHERE account_id = NEW.account_id ORDER BY id DESC LIMIT 1), 0);
  RETURN NEW;
END $$;

-- Adds the entries to their accounts and moves their meters on. A plan that a session keeps from a large statement must not
-- scan the accounts or meters for each small one: without the other joins, rows are looked up by their ids.
CREATE FUNCTION "ledger_entries_post"() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  refused bigint;
BEGIN
  -- A charge moves its meter's origin, rate * since - carried, by exactly its amount, since the amount is rate * period with
  -- the carried parts. An hour has 3,600,000 ms.
  WITH entries AS (
    SELECT *, balance_after_nanos - sum(amount_nanos) OVER (PARTITION BY account_id ORDER BY id) AS balance_before
    FROM new_entries
  ), sums AS (
    SELECT account_id, balance_before, sum(amount_nanos) AS amount,
      coalesce(sum(-3600000 * amount_nanos) FILTER (WHERE kind = 'gpu'), 0) AS gpu,
      coalesce(sum(-3600000 * amount_nanos) FILTER (WHERE kind = 'disk'), 0) AS disk,
      max(period_end) FILTER (WHERE kind IN ('gpu', 'disk')) AS charged_until
    FROM entries GROUP BY account_id, balance_before
  ), posted AS (
    UPDATE accounts a SET posted_nanos = posted_nanos + amount, gpu_origin = gpu_origin + gpu, disk_origin = disk_origin + disk,
      metered_at = greatest(metered_at, charged_until)
    FROM sums WHERE a.id = account_id AND posted_nanos = balance_before RETURNING account_id, balance_before
  )
  SELECT account_id INTO refused FROM (SELECT account_id, balance_before FROM sums EXCEPT SELECT * FROM posted) others LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the entries do not go on from the balance of account %', refused USING ERRCODE = 'check_violation';
  END IF;

  -- A second charge of a meter in one statement begins where the first one ended, not where the meter stands, and is refused.
  WITH charged AS (
    UPDATE meters m SET since = e.period_end, charged_nanos = charged_nanos - e.amount_nanos,
      carried = mod(e.rate_nanos * extract(epoch FROM e.period_end - e.period_start) * 1000 + e.carried, 3600000)
    FROM new_entries e WHERE e.kind IN ('gpu', 'disk') AND m.id = e.meter_id
    AND m.account_id = e.account_id AND m.kind::text = e.kind::text AND m.since = e.period_start
    AND m.rate_nanos = e.rate_nanos AND m.carried = e.carried RETURNING e.id
  )
  SELECT meter_id INTO refused FROM new_entries
  WHERE kind IN ('gpu', 'disk') AND id NOT IN (SELECT id FROM charged) LIMIT 1;
  IF NOT FOUND THEN
    WITH refunds AS (
      SELECT meter_id, account_id, sum(amount_nanos) AS amount FROM new_entries WHERE kind = 'refund' GROUP BY 1, 2
    ), refunded AS (
      UPDATE meters m SET charged_nanos = charged_nanos - amount FROM refunds r
      WHERE m.id = r.meter_id AND m.account_id = r.account_id AND charged_nanos >= amount RETURNING m.id, m.account_id
    )
    SELECT meter_id INTO refused FROM (
      SELECT meter_id, account_id FROM refunds EXCEPT SELECT id, account_id FROM refunded
    ) others LIMIT 1;
  END IF;
  IF FOUND THEN
    RAISE EXCEPTION 'the entry does not go on from where meter % is', refused USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;

DROP TRIGGER "ledger_entries_count" ON "ledger_entries";
DROP FUNCTION "ledger_entries_count"();
CREATE TRIGGER "ledger_entries_balance" BEFORE INSERT ON "ledger_entries" FOR EACH ROW
  EXECUTE FUNCTION "ledger_entries_balance"();
CREATE TRIGGER "ledger_entries_post" AFTER INSERT ON "ledger_entries" REFERENCING NEW TABLE AS "new_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION "ledger_entries_post"();

-- What the ledger changes of a meter, it adds to the account itself.
DROP TRIGGER "meters_count_changed" ON "meters";
CREATE TRIGGER "meters_count_changed" AFTER UPDATE ON "meters" REFERENCING OLD TABLE AS "old_meters" NEW TABLE AS "new_meters"
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION "meters_count"();
-- A change of a meter that costs the same as before, such as of its planned end, does not write the account. A session
-- plans the statement once.
CREATE OR REPLACE FUNCTION "accounts_add"("added" "meters"[], "removed" "meters"[]) RETURNS void LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE accounts SET gpu_rate_nanos = gpu_rate_nanos + gpu_rate, gpu_origin = gpu_origin + gpu_start,
    disk_rate_nanos = disk_rate_nanos + disk_rate, disk_origin = disk_origin + disk_start,
    metered_at = greatest(metered_at, latest)
  FROM (
    SELECT account_id, max(since) AS latest,
      coalesce(sum(rate) FILTER (WHERE kind = 'gpu'), 0) AS gpu_rate,
      coalesce(sum(start) FILTER (WHERE kind = 'gpu'), 0) AS gpu_start,
      coalesce(sum(rate) FILTER (WHERE kind = 'disk'), 0) AS disk_rate,
      coalesce(sum(start) FILTER (WHERE kind = 'disk'), 0) AS disk_start
    FROM (SELECT 1 AS sign, m.* FROM unnest(added) m UNION ALL SELECT -1, m.* FROM unnest(removed) m) AS meter
    CROSS JOIN LATERAL (SELECT sign * rate_nanos AS rate,
      CASE WHEN rate_nanos > 0 THEN sign * (rate_nanos * extract(epoch FROM since) * 1000 - carried) ELSE 0 END AS start) AS part
    GROUP BY account_id
  ) AS changed WHERE accounts.id = changed.account_id
  AND (metered_at < latest OR (gpu_rate, gpu_start, disk_rate, disk_start) <> (0, 0, 0, 0));
END $$;
