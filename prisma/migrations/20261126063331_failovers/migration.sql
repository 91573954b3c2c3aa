-- CreateTable
CREATE TABLE "failovers" (
    "epoch" INTEGER NOT NULL,
    "line" TEXT NOT NULL,
    "witnessed" BOOLEAN NOT NULL,
    "noticed_at" TIMESTAMPTZ(3) NOT NULL,
    "complete_until" TIMESTAMPTZ(3),
    "instances_after" BIGINT NOT NULL,
    "instances_until" BIGINT NOT NULL,
    "volumes_after" BIGINT NOT NULL,
    "volumes_until" BIGINT NOT NULL,

    CONSTRAINT "failovers_pkey" PRIMARY KEY ("epoch")
);
