-- TEMPLATE_SAVED is now TEMPLATE_CREATED or TEMPLATE_UPDATED: a creation has no facts before it. A webhook of the old type
-- gets both. The columns have the names of before or of after the migration that calls a type a kind.
DO $$
DECLARE
  "event_column" text := (SELECT column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = 'events' AND column_name IN ('type', 'kind'));
  "webhook_column" text := (SELECT column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = 'webhooks' AND column_name IN ('types', 'kinds'));
BEGIN
  EXECUTE format('UPDATE "events"
    SET %1$I = CASE WHEN coalesce("before", ''null'') = ''null'' THEN ''TEMPLATE_CREATED'' ELSE ''TEMPLATE_UPDATED'' END
    WHERE %1$I = ''TEMPLATE_SAVED''', "event_column");
  EXECUTE format('UPDATE "webhooks" SET %1$I = array_cat(array_remove(%1$I, ''TEMPLATE_SAVED''),
      ''{TEMPLATE_CREATED,TEMPLATE_UPDATED}''::text[])
    WHERE %1$I @> ''{TEMPLATE_SAVED}''::text[]', "webhook_column");
END $$;
