-- AlterTable
ALTER TABLE "agents" ADD COLUMN     "released_at" TIMESTAMPTZ(3);
