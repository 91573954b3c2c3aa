-- AlterTable
ALTER TABLE "engines" ALTER COLUMN "url" DROP NOT NULL;

-- AlterTable
ALTER TABLE "instance_looks" ADD COLUMN     "agent_machine_id" INTEGER;

-- CreateTable
CREATE TABLE "agents" (
    "machine_id" INTEGER NOT NULL,
    "key_hash" BYTEA,
    "joined_at" TIMESTAMPTZ(3) NOT NULL,
    "gateway_id" UUID,
    "held_until" TIMESTAMPTZ(3),
    "generation" INTEGER NOT NULL DEFAULT 0,
    "version" TEXT,

    CONSTRAINT "agents_pkey" PRIMARY KEY ("machine_id")
);

-- CreateTable
CREATE TABLE "host_invites" (
    "machine_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "gpu_access" "gpu_access",
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "host_invites_pkey" PRIMARY KEY ("machine_id")
);

-- CreateTable
CREATE TABLE "agent_requests" (
    "machine_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "method" TEXT NOT NULL,
    "args" BYTEA NOT NULL,
    "answer" BYTEA,
    "deadline" TIMESTAMPTZ(3) NOT NULL,
    "taken_at" TIMESTAMPTZ(3),

    CONSTRAINT "agent_requests_pkey" PRIMARY KEY ("machine_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "agents_key_hash_key" ON "agents"("key_hash");

-- CreateIndex
CREATE UNIQUE INDEX "host_invites_token_hash_key" ON "host_invites"("token_hash");

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "engines"("machine_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "host_invites" ADD CONSTRAINT "host_invites_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_requests" ADD CONSTRAINT "agent_requests_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "agents"("machine_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language does not have.
ALTER TABLE "engines" DROP CONSTRAINT "engines_are_reached_by_socket_or_tls";
ALTER TABLE "engines" ADD CONSTRAINT "engines_are_reached_by_agent_socket_or_tls"
  CHECK (CASE WHEN url IS NULL THEN tls IS NULL ELSE (url LIKE 'unix:///%' AND tls IS NULL) OR (url LIKE 'tcp://%' AND tls IS NOT NULL) END);
ALTER TABLE "agents" ADD CONSTRAINT "agents_are_held_until_an_instant" CHECK ((gateway_id IS NULL) = (held_until IS NULL));
ALTER TABLE "agents" ADD CONSTRAINT "agents_without_key_are_not_held" CHECK (key_hash IS NOT NULL OR gateway_id IS NULL);
ALTER TABLE "agents" ADD CONSTRAINT "agents_have_hashes" CHECK (octet_length(key_hash) = 32);
ALTER TABLE "agents" ADD CONSTRAINT "agents_have_short_versions" CHECK (length(version) <= 64);
ALTER TABLE "host_invites" ADD CONSTRAINT "host_invites_have_hashes" CHECK (octet_length(token_hash) = 32);
ALTER TABLE "agent_requests" ADD CONSTRAINT "agent_requests_are_bounded"
  CHECK (octet_length(args) <= 262144 AND octet_length(answer) <= 8388608);
-- Renewed every two seconds: room for the versions, which then stay on their page.
ALTER TABLE "agents" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- An engine has an agent, or an address.
CREATE FUNCTION "engines_have_an_address_or_agent"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  machine INTEGER := CASE WHEN TG_OP = 'DELETE' THEN OLD."machine_id" ELSE NEW."machine_id" END;
BEGIN
  IF EXISTS (SELECT FROM "engines" e WHERE e."machine_id" = machine
    AND (e."url" IS NULL) <> EXISTS (SELECT FROM "agents" a WHERE a."machine_id" = machine)) THEN
    RAISE EXCEPTION 'The engine of machine % needs either an address or an agent.', machine USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER "engines_have_an_address_or_agent" AFTER INSERT OR DELETE ON "agents"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "engines_have_an_address_or_agent"();
CREATE CONSTRAINT TRIGGER "engines_have_an_address_or_agent" AFTER INSERT OR UPDATE OF "url" ON "engines"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "engines_have_an_address_or_agent"();

-- The instances of a host with an agent are leased only where its connection is.
CREATE OR REPLACE FUNCTION "instances_are_looked_at"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "instance_looks" ("instance_id", "account_id", "due_at", "agent_machine_id")
    VALUES (NEW."id", NEW."account_id", NEW."created_at", (SELECT "machine_id" FROM "agents" WHERE "machine_id" = NEW."machine_id"));
  RETURN NULL;
END
$$;
CREATE FUNCTION "looks_know_agents"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE "instance_looks" l SET "agent_machine_id" = NULL FROM "instances" i
      WHERE i."id" = l."instance_id" AND i."machine_id" = OLD."machine_id" AND i."removed_at" IS NULL;
  ELSE
    UPDATE "instance_looks" l SET "agent_machine_id" = NEW."machine_id" FROM "instances" i
      WHERE i."id" = l."instance_id" AND i."machine_id" = NEW."machine_id" AND i."removed_at" IS NULL;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER "looks_know_agents" AFTER INSERT OR DELETE ON "agents" FOR EACH ROW EXECUTE FUNCTION "looks_know_agents"();
