import { fileURLToPath } from 'node:url'
import { defineConfig } from 'prisma/config'

// `prisma generate` looks for a native schema engine and downloads it when it is missing. It never runs it, so
// any file that exists will do, and generating works without a network.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= fileURLToPath(import.meta.url)

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
})
