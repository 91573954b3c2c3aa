import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Tests that need a process of their own: one file replaces modules for all later tests, the other measures memory. */
export const isolatedTests = ['test/unit/offers/watch.test.ts', 'test/integration/events/streams-ending.test.ts']

export const projectDefaults = {
  root: new URL('..', import.meta.url).pathname,
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // A poll waits for something that happens: one second is too short while two other files run.
  expect: { poll: { timeout: 5_000 } },
  // Node runs the tests like the program, without a transform in between.
  experimental: { viteModuleRunner: false },
} as const

// Tests mostly wait for the database, so three workers pay off even on few cores.
export const maxWorkers = Math.max(3, availableParallelism() - 1)

export default defineConfig({
  root: projectDefaults.root,
  test: {
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers,
    projects: [
      {
        test: {
          ...projectDefaults,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', 'test/e2e/**', 'test/long/**', 'test/engine/**', ...isolatedTests],
          // The program keeps no state outside an app, and loading it takes longer than most tests. So a process loads
          // it once for all of its test files.
          isolate: false,
        },
      },
      { test: { ...projectDefaults, name: 'alone', include: isolatedTests } },
    ],
  },
})
