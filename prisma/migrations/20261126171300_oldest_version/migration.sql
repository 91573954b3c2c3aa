-- CreateTable
CREATE TABLE "oldest_version" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "migration" TEXT NOT NULL,

    CONSTRAINT "oldest_version_pkey" PRIMARY KEY ("id")
);

-- There is one row.
ALTER TABLE "oldest_version" ADD CONSTRAINT "oldest_version_is_one" CHECK ("id");

-- Versions before this one refuse every migration that they do not know.
INSERT INTO "oldest_version" VALUES (true, '20261126171300_oldest_version');
