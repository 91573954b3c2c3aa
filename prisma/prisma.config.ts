import { fileURLToPath } from 'node:url'
import { defineConfig } from 'prisma/config'

// `prisma generate` downloads a native schema engine if it finds none, but never runs it. Any existing file will do, so
// generating works without a network.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= fileURLToPath(import.meta.url)

export default defineConfig({
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
})
