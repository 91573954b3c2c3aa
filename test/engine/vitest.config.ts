import { defineConfig } from 'vitest/config'

/** Tests with a real Docker Engine, which they start and share, one file at a time: npm run test:engine. */
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    include: ['test/engine/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/support/engine/global-setup.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 5_000 } },
    experimental: { viteModuleRunner: false },
  },
})
