-- CreateTable
CREATE TABLE "ssh_host_key" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "sealed" BYTEA NOT NULL,

    CONSTRAINT "ssh_host_key_pkey" PRIMARY KEY ("id")
);

-- There is one row at most.
ALTER TABLE "ssh_host_key" ADD CONSTRAINT "ssh_host_key_is_one" CHECK ("id");
