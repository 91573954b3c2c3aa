-- CreateEnum
CREATE TYPE "restart" AS ENUM ('reboot', 'recycle', 'anew');

-- AlterTable
ALTER TABLE "instances" ADD COLUMN     "restart" "restart";
