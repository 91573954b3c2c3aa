-- CreateEnum
CREATE TYPE "target_state" AS ENUM ('running', 'stopped');

-- CreateEnum
CREATE TYPE "instance_status" AS ENUM ('created', 'scheduling', 'loading', 'running', 'stopping', 'stopped', 'exited', 'offline', 'unknown');

-- CreateTable
CREATE TABLE "instances" (
    "id" BIGSERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "api_key_id" INTEGER NOT NULL,
    "machine_id" INTEGER NOT NULL,
    "offer_id" BIGINT NOT NULL,
    "first_gpu" INTEGER NOT NULL,
    "num_gpus" INTEGER NOT NULL,
    "label" TEXT,
    "vm" BOOLEAN NOT NULL,
    "launch" JSONB NOT NULL,
    "registry_login" BYTEA,
    "disk_mb" INTEGER NOT NULL,
    "interruptible" BOOLEAN NOT NULL,
    "compute_nanos" BIGINT NOT NULL,
    "storage_nanos" BIGINT NOT NULL,
    "disk_nanos" BIGINT NOT NULL,
    "target_state" "target_state" NOT NULL,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL,
    "status" "instance_status" NOT NULL DEFAULT 'created',
    "reason_code" TEXT,
    "reason_message" TEXT,
    "exit_code" INTEGER,
    "status_changed_at" TIMESTAMPTZ(3) NOT NULL,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "due_at" TIMESTAMPTZ(3),
    "leased_until" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "started_at" TIMESTAMPTZ(3),
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "destroyed_at" TIMESTAMPTZ(3),
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "instances_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "port_bindings" (
    "machine_id" INTEGER NOT NULL,
    "host_port" INTEGER NOT NULL,
    "instance_id" BIGINT NOT NULL,
    "container_port" INTEGER NOT NULL,
    "protocol" TEXT NOT NULL,

    CONSTRAINT "port_bindings_pkey" PRIMARY KEY ("machine_id","host_port")
);

-- CreateTable
CREATE TABLE "events" (
    "id" BIGSERIAL NOT NULL,
    "xid" xid8 NOT NULL DEFAULT pg_current_xact_id(),
    "type" TEXT NOT NULL,
    "account_id" INTEGER NOT NULL,
    "instance_id" BIGINT,
    "api_key_id" INTEGER,
    "before" JSONB,
    "after" JSONB,
    "reason" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "simulated_containers" (
    "instance_id" BIGINT NOT NULL,
    "prepared_at" TIMESTAMPTZ(3) NOT NULL,
    "up_at" TIMESTAMPTZ(3),
    "down_at" TIMESTAMPTZ(3),
    "exit_code" INTEGER,

    CONSTRAINT "simulated_containers_pkey" PRIMARY KEY ("instance_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "instances_offer_id_key" ON "instances"("offer_id");

-- CreateIndex
CREATE UNIQUE INDEX "instances_id_machine_id_key" ON "instances"("id", "machine_id");

-- CreateIndex
CREATE INDEX "port_bindings_instance_id_machine_id_idx" ON "port_bindings"("instance_id", "machine_id");

-- CreateIndex
CREATE INDEX "events_xid_id_idx" ON "events"("xid", "id");

-- CreateIndex
CREATE INDEX "events_instance_id_id_idx" ON "events"("instance_id", "id");

-- AddForeignKey
ALTER TABLE "gpus" ADD CONSTRAINT "gpus_holder_id_machine_id_fkey" FOREIGN KEY ("holder_id", "machine_id") REFERENCES "instances"("id", "machine_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "gpus" ADD CONSTRAINT "gpus_occupant_id_machine_id_fkey" FOREIGN KEY ("occupant_id", "machine_id") REFERENCES "instances"("id", "machine_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instances" ADD CONSTRAINT "instances_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instances" ADD CONSTRAINT "instances_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instances" ADD CONSTRAINT "instances_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instances" ADD CONSTRAINT "instances_offer_id_fkey" FOREIGN KEY ("offer_id") REFERENCES "offers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "port_bindings" ADD CONSTRAINT "port_bindings_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "port_bindings" ADD CONSTRAINT "port_bindings_instance_id_machine_id_fkey" FOREIGN KEY ("instance_id", "machine_id") REFERENCES "instances"("id", "machine_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "events" ADD CONSTRAINT "events_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "events" ADD CONSTRAINT "events_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "events" ADD CONSTRAINT "events_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- What the schema language cannot say.

ALTER TABLE "instances"
  ADD CONSTRAINT "instances_block" CHECK ("first_gpu" >= 0 AND "num_gpus" > 0 AND "first_gpu" + "num_gpus" <= 16),
  ADD CONSTRAINT "instances_label" CHECK (char_length("label") BETWEEN 1 AND 256),
  ADD CONSTRAINT "instances_launch_is_an_object" CHECK (jsonb_typeof("launch") = 'object'),
  ADD CONSTRAINT "instances_prices" CHECK ("disk_mb" > 0 AND "compute_nanos" > 0 AND "storage_nanos" >= 0 AND "disk_nanos" >= 0),
  ADD CONSTRAINT "instances_are_destroyed_before_they_are_removed" CHECK ("removed_at" IS NULL OR "destroyed_at" IS NOT NULL);

ALTER TABLE "port_bindings"
  ADD CONSTRAINT "port_bindings_ports" CHECK ("host_port" BETWEEN 1 AND 65535 AND "container_port" BETWEEN 1 AND 65535),
  ADD CONSTRAINT "port_bindings_protocol" CHECK ("protocol" IN ('tcp', 'udp'));

-- An instance whose container exited, was lost or went offline never runs again, and one that is destroyed stays so.
CREATE FUNCTION "instances_stay_final"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'instance % is final', OLD.id USING ERRCODE = 'check_violation';
END
$$;
CREATE TRIGGER "instances_stay_final" BEFORE UPDATE ON "instances" FOR EACH ROW
  WHEN ((OLD."status" IN ('exited', 'offline', 'unknown') AND NEW."status" <> OLD."status")
    OR (OLD."destroyed_at" IS NOT NULL AND NEW."destroyed_at" IS DISTINCT FROM OLD."destroyed_at"))
  EXECUTE FUNCTION "instances_stay_final"();

-- The lists of an account, the newest first.
CREATE INDEX "instances_of_account" ON "instances" ("account_id", "id" DESC) WHERE "destroyed_at" IS NULL;
-- Those who may claim the GPUs of a machine, however many have come and gone.
CREATE INDEX "instances_on_machine" ON "instances" ("machine_id") WHERE "destroyed_at" IS NULL;
-- Work is found here.
CREATE INDEX "instances_due" ON "instances" ("due_at") WHERE "due_at" IS NOT NULL;

-- Every look at an instance rewrites its row.
ALTER TABLE "instances" SET (fillfactor = 80);
