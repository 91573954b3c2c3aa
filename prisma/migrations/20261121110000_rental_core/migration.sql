-- AlterTable
ALTER TABLE "instances" ADD COLUMN     "idempotency_key" TEXT,
ADD COLUMN     "secret_env" BYTEA,
ADD COLUMN     "template_hash" TEXT,
ADD COLUMN     "template_id" INTEGER;

-- AlterTable
ALTER TABLE "machines" ADD COLUMN     "drained_at" TIMESTAMPTZ(3),
ADD COLUMN     "unlisted_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "simulated_containers" ADD COLUMN     "ssh_keys" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- CreateTable
CREATE TABLE "templates" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "hash_id" TEXT NOT NULL,
    "public" BOOLEAN NOT NULL,
    "settings" JSONB NOT NULL,
    "registry_login" BYTEA,
    "secret_env" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "templates_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ssh_keys" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "ssh_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "instance_ssh_keys" (
    "instance_id" BIGINT NOT NULL,
    "ssh_key_id" INTEGER NOT NULL,

    CONSTRAINT "instance_ssh_keys_pkey" PRIMARY KEY ("instance_id","ssh_key_id")
);

-- CreateTable
CREATE TABLE "volumes" (
    "id" BIGSERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "machine_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "size_mb" INTEGER NOT NULL,
    "storage_nanos" BIGINT NOT NULL,
    "disk_nanos" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "volumes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "volume_attachments" (
    "volume_id" BIGINT NOT NULL,
    "instance_id" BIGINT NOT NULL,
    "machine_id" INTEGER NOT NULL,
    "account_id" INTEGER NOT NULL,
    "mount_path" TEXT NOT NULL,
    "released_at" TIMESTAMPTZ(3),

    CONSTRAINT "volume_attachments_pkey" PRIMARY KEY ("volume_id","instance_id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "account_id" INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    "input_hash" BYTEA NOT NULL,
    "result" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("account_id","key")
);

-- CreateIndex
CREATE INDEX "instance_ssh_keys_ssh_key_id_idx" ON "instance_ssh_keys"("ssh_key_id");

-- CreateIndex
CREATE UNIQUE INDEX "volumes_id_machine_id_account_id_key" ON "volumes"("id", "machine_id", "account_id");

-- CreateIndex
CREATE INDEX "volume_attachments_instance_id_idx" ON "volume_attachments"("instance_id");

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "instances_id_machine_id_account_id_key" ON "instances"("id", "machine_id", "account_id");

-- AddForeignKey
ALTER TABLE "instances" ADD CONSTRAINT "instances_template_id_fkey" FOREIGN KEY ("template_id") REFERENCES "templates"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "templates" ADD CONSTRAINT "templates_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ssh_keys" ADD CONSTRAINT "ssh_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance_ssh_keys" ADD CONSTRAINT "instance_ssh_keys_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance_ssh_keys" ADD CONSTRAINT "instance_ssh_keys_ssh_key_id_fkey" FOREIGN KEY ("ssh_key_id") REFERENCES "ssh_keys"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "volumes" ADD CONSTRAINT "volumes_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "volumes" ADD CONSTRAINT "volumes_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "volume_attachments" ADD CONSTRAINT "volume_attachments_volume_id_machine_id_account_id_fkey" FOREIGN KEY ("volume_id", "machine_id", "account_id") REFERENCES "volumes"("id", "machine_id", "account_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "volume_attachments" ADD CONSTRAINT "volume_attachments_instance_id_machine_id_account_id_fkey" FOREIGN KEY ("instance_id", "machine_id", "account_id") REFERENCES "instances"("id", "machine_id", "account_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the schema language cannot say.

ALTER TABLE "templates"
  ADD CONSTRAINT "templates_name" CHECK (char_length("name") BETWEEN 1 AND 256),
  ADD CONSTRAINT "templates_hash_id" CHECK ("hash_id" ~ '^[0-9a-f]{32}$'),
  ADD CONSTRAINT "templates_settings_are_an_object" CHECK (jsonb_typeof("settings") = 'object'),
  ADD CONSTRAINT "templates_keep_secrets_private" CHECK (NOT "public" OR ("registry_login" IS NULL AND "secret_env" IS NULL));
-- A hash names one template, as long as that is there.
CREATE UNIQUE INDEX "templates_hash" ON "templates" ("hash_id") WHERE "deleted_at" IS NULL;
CREATE INDEX "templates_of_account" ON "templates" ("account_id", "id") WHERE "deleted_at" IS NULL;
CREATE INDEX "templates_public" ON "templates" ("id") WHERE "public" AND "deleted_at" IS NULL;

CREATE UNIQUE INDEX "ssh_keys_of_account" ON "ssh_keys" ("account_id", "fingerprint") WHERE "deleted_at" IS NULL;

ALTER TABLE "volumes"
  ADD CONSTRAINT "volumes_name" CHECK (char_length("name") BETWEEN 1 AND 64),
  ADD CONSTRAINT "volumes_sizes" CHECK ("size_mb" > 0 AND "storage_nanos" >= 0 AND "disk_nanos" >= 0);
CREATE INDEX "volumes_of_account" ON "volumes" ("account_id", "id" DESC) WHERE "deleted_at" IS NULL;
CREATE INDEX "volumes_on_machine" ON "volumes" ("machine_id") WHERE "deleted_at" IS NULL;
-- Two containers that write to one file system destroy it.
CREATE UNIQUE INDEX "volume_attachments_one_instance" ON "volume_attachments" ("volume_id") WHERE "released_at" IS NULL;

-- A volume with an instance on it stays, and a deleted one is attached to nothing.
CREATE FUNCTION "volumes_stay_while_attached"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM volume_attachments a WHERE a.volume_id = NEW.id AND a.released_at IS NULL) THEN
    RAISE EXCEPTION 'volume % is attached', NEW.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER "volumes_stay_while_attached" BEFORE UPDATE ON "volumes" FOR EACH ROW
  WHEN (OLD."deleted_at" IS NULL AND NEW."deleted_at" IS NOT NULL) EXECUTE FUNCTION "volumes_stay_while_attached"();
CREATE FUNCTION "volumes_are_there_to_be_attached"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Takes the volume, so that nobody deletes it meanwhile.
  PERFORM FROM volumes v WHERE v.id = NEW.volume_id AND v.deleted_at IS NULL FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'volume % is deleted', NEW.volume_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER "volumes_are_there_to_be_attached" BEFORE INSERT ON "volume_attachments" FOR EACH ROW
  EXECUTE FUNCTION "volumes_are_there_to_be_attached"();

ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_key" CHECK (char_length("key") BETWEEN 1 AND 255);

-- Credit that is granted under a key of the operator's choice is granted once.
CREATE UNIQUE INDEX "events_grant_once" ON "events" ("account_id", ("after"->>'idempotencyKey')) WHERE "type" = 'CREDIT_GRANTED';

ALTER TABLE "instances" ADD CONSTRAINT "instances_name_their_template_by_its_hash"
  CHECK (("template_id" IS NULL) = ("template_hash" IS NULL));
ALTER TABLE "machines" ADD CONSTRAINT "machines_are_drained_before_they_are_unlisted"
  CHECK ("unlisted_at" IS NULL OR "drained_at" IS NOT NULL);
-- Found again by who lost the answer.
CREATE INDEX "instances_of_idempotency_key" ON "instances" ("account_id", "idempotency_key") WHERE "idempotency_key" IS NOT NULL;

-- What was rented before this began with no template.
UPDATE "instances" SET "launch" = "launch" || '{"sources": {"image": "request"}}';

-- Nothing is started any more where a container is gone.
UPDATE "instances" SET "registry_login" = NULL WHERE "removed_at" IS NOT NULL;
