-- CreateTable
CREATE TABLE "secret_variables" (
    "account_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "value" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "secret_variables_pkey" PRIMARY KEY ("account_id","name")
);

-- AddForeignKey
ALTER TABLE "secret_variables" ADD CONSTRAINT "secret_variables_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Written by hand: what the schema language cannot say.

ALTER TABLE "secret_variables" ADD CONSTRAINT "secret_variables_name" CHECK ("name" ~ '^[A-Za-z_][A-Za-z0-9_]{0,255}$');

-- How often an account has rented with a template.
CREATE INDEX "instances_of_template" ON "instances" ("template_id", "account_id") WHERE "template_id" IS NOT NULL;
