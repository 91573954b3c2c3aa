-- AlterTable
ALTER TABLE "host_invites" ADD COLUMN     "allows_unreachable_ports" BOOLEAN NOT NULL DEFAULT false;
