import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Tests that no other may share a process with: one replaces modules for all that follow, one measures memory. */
const isolatedTests = ['test/unit/offers/watch.test.ts', 'test/integration/events/streams-ending.test.ts']

const projectDefaults = {
  root: new URL('..', import.meta.url).pathname,
  pool: 'forks',
  testTimeout: 20_000,
  hookTimeout: 30_000,
  // Node runs the tests as it runs the program: without a transform in between.
  experimental: { viteModuleRunner: false },
} as const

export default defineConfig({
  root: projectDefaults.root,
  test: {
    globalSetup: 'test/support/global-setup.ts',
    // Much of a test is waiting for the database, so three get on even where there are few cores.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    projects: [
      {
        test: {
          ...projectDefaults,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: ['test/long/**', ...isolatedTests],
          // The program keeps nothing outside of an app, and reading it takes longer than most tests: a process reads
          // it once, for all the files that it runs.
          isolate: false,
        },
      },
      { test: { ...projectDefaults, name: 'alone', include: isolatedTests } },
    ],
  },
})
