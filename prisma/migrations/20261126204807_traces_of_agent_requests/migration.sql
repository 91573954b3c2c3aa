-- AlterTable
ALTER TABLE "agent_requests" ADD COLUMN     "trace_parent" TEXT;

ALTER TABLE "agent_requests" ADD CONSTRAINT "agent_requests_trace_parent"
  CHECK ("trace_parent" ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$');
