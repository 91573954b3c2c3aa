-- CreateTable
CREATE TABLE "secret_check" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "secret_check_pkey" PRIMARY KEY ("id")
);

-- There is one row at most.
ALTER TABLE "secret_check" ADD CONSTRAINT "secret_check_is_one" CHECK ("id");
