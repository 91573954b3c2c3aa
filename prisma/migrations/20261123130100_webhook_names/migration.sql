ALTER TABLE "webhooks" ADD COLUMN "name" TEXT;
