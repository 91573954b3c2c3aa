-- An instance that was destroyed on request kept the reason of the status before. Those that Berth destroyed have theirs.
UPDATE instances i SET reason_code = 'USER_REQUEST', reason_message = 'It was destroyed on request.'
WHERE destroyed_at IS NOT NULL AND (
  reason_code IS NULL
  OR reason_code NOT IN ('DEBT', 'RENTAL_ENDED', 'SCHEDULE')
  OR EXISTS (
    SELECT FROM events e
    WHERE e.instance_id = i.id AND e.type = 'INSTANCE_DESTROYED' AND e.reason = 'USER_REQUEST'
  )
);
