import { defineConfig } from 'vitest/config'
import { maxWorkers, projectDefaults } from '../vitest.config.ts'

/** Tests of started programs: gateways, commands and agents, each a process of its own: npm run test:e2e. */
export default defineConfig({
  test: {
    ...projectDefaults,
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    maxWorkers,
    isolate: false,
  },
})
