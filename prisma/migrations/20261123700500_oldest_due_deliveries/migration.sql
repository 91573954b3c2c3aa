-- Written by hand: what the schema language cannot say.

-- Gateways look for the deliveries that are due the longest, however many webhooks wait for a later retry.
CREATE INDEX "webhook_deliveries_oldest_due" ON "webhook_deliveries" ("due_at") WHERE "due_at" IS NOT NULL;
