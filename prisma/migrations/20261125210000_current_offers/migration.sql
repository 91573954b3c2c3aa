-- Market updates read the current offers of a machine through the index of current blocks. PostgreSQL preferred this one, which
-- also has all offers that a machine ever had.
DROP INDEX "offers_machine_id_idx";
