-- Pages that contain destroyed instances, too: "instances_of_account" has only the others.
CREATE INDEX "instances_of_account_with_destroyed" ON "instances"("account_id", "id" DESC);
