-- What an operator wrote about the last change of an instance's target state: the renter reads it as the status message.
ALTER TABLE "instances" ADD COLUMN "target_message" TEXT;
