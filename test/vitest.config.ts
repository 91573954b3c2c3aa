import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/long/**'],
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    // Much of a test is waiting for the database, so two get on even where there are few cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Node runs the tests as it runs the program: without a transform in between.
    experimental: { viteModuleRunner: false },
  },
})
