-- Written by hand: what the schema language cannot say.

-- Each pass of the reconciler leaves a dead entry in the index of due instances. Leasing passes over these entries until they
-- are vacuumed. By default that waits until a fifth of all rows has changed, and most rows are of destroyed instances.
ALTER TABLE "instances" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
