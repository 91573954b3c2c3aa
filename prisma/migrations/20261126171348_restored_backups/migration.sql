-- AlterTable
ALTER TABLE "failovers" ADD COLUMN     "restored" BOOLEAN NOT NULL DEFAULT false;
