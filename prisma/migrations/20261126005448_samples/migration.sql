-- CreateTable
CREATE TABLE "samplings" (
    "machine_id" INTEGER NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "samplings_pkey" PRIMARY KEY ("machine_id")
);

-- CreateTable
CREATE TABLE "samples" (
    "instance_id" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "received_bytes" BIGINT,
    "sent_bytes" BIGINT,
    "cpu_cores" REAL,
    "memory_mb" INTEGER,
    "disk_mb" INTEGER,
    "slot" SMALLINT NOT NULL,
    "gpu_utilization" SMALLINT[] NOT NULL,
    "gpu_memory_mb" INTEGER[] NOT NULL,

    CONSTRAINT "samples_pkey" PRIMARY KEY ("instance_id","at","slot")
) PARTITION BY LIST ("slot");

-- CreateTable
CREATE TABLE "sample_minutes" (
    "instance_id" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "received_bytes" BIGINT,
    "sent_bytes" BIGINT,
    "cpu_cores" REAL,
    "memory_mb" INTEGER,
    "disk_mb" INTEGER,
    "slot" SMALLINT NOT NULL,
    "gpu_utilization" SMALLINT[] NOT NULL,
    "gpu_memory_mb" INTEGER[] NOT NULL,

    CONSTRAINT "sample_minutes_pkey" PRIMARY KEY ("instance_id","at","slot")
) PARTITION BY LIST ("slot");

-- CreateTable
CREATE TABLE "sample_progress" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "minutes_until" TIMESTAMPTZ(3) NOT NULL DEFAULT '1970-01-01 00:00:00 +00:00',

    CONSTRAINT "sample_progress_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "samples_at_idx" ON "samples" USING BRIN ("at");

-- AddForeignKey
ALTER TABLE "samplings" ADD CONSTRAINT "samplings_machine_id_fkey" FOREIGN KEY ("machine_id") REFERENCES "engines"("machine_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language does not have. Rows go with their partition, which is truncated.
CREATE TABLE "samples_0" PARTITION OF "samples" FOR VALUES IN (0);
CREATE TABLE "samples_1" PARTITION OF "samples" FOR VALUES IN (1);
CREATE TABLE "samples_2" PARTITION OF "samples" FOR VALUES IN (2);
CREATE TABLE "sample_minutes_0" PARTITION OF "sample_minutes" FOR VALUES IN (0);
CREATE TABLE "sample_minutes_1" PARTITION OF "sample_minutes" FOR VALUES IN (1);
CREATE TABLE "sample_minutes_2" PARTITION OF "sample_minutes" FOR VALUES IN (2);
CREATE TABLE "sample_minutes_3" PARTITION OF "sample_minutes" FOR VALUES IN (3);
CREATE TABLE "sample_minutes_4" PARTITION OF "sample_minutes" FOR VALUES IN (4);
CREATE TABLE "sample_minutes_5" PARTITION OF "sample_minutes" FOR VALUES IN (5);
CREATE TABLE "sample_minutes_6" PARTITION OF "sample_minutes" FOR VALUES IN (6);
CREATE TABLE "sample_minutes_7" PARTITION OF "sample_minutes" FOR VALUES IN (7);
CREATE TABLE "sample_minutes_8" PARTITION OF "sample_minutes" FOR VALUES IN (8);
ALTER TABLE "sample_progress" ADD CONSTRAINT "sample_progress_has_one_row" CHECK ("id");
INSERT INTO "sample_progress" DEFAULT VALUES;
