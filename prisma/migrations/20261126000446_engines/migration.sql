-- CreateEnum
CREATE TYPE "gpu_access" AS ENUM ('cdi', 'nvidia', 'none');

-- CreateTable
CREATE TABLE "engines" (
    "machine_id" INTEGER NOT NULL,
    "url" TEXT NOT NULL,
    "tls" BYTEA,
    "mark" TEXT NOT NULL,
    "identity" TEXT NOT NULL,
    "gpu_access" "gpu_access" NOT NULL,
    "gpu_uuids" TEXT[],
    "connected_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "engines_pkey" PRIMARY KEY ("machine_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "engines_mark_key" ON "engines"("mark");

-- CreateIndex
CREATE UNIQUE INDEX "engines_identity_key" ON "engines"("identity");

-- AddForeignKey
ALTER TABLE "engines" ADD CONSTRAINT "engines_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "machines"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the schema language does not have.
ALTER TABLE "engines" ALTER COLUMN "gpu_uuids" SET NOT NULL;
ALTER TABLE "engines" ADD CONSTRAINT "engines_are_reached_by_socket_or_tls"
  CHECK ((url LIKE 'unix:///%' AND tls IS NULL) OR (url LIKE 'tcp://%' AND tls IS NOT NULL));
ALTER TABLE "engines" ADD CONSTRAINT "engines_without_gpus_name_none" CHECK ((gpu_access = 'none') = (gpu_uuids = '{}'));
