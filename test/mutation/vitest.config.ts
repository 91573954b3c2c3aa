import { defineConfig } from 'vitest/config'
import { BaseSequencer, type Reporter, type TestSpecification } from 'vitest/node'
import { type Asked, resultPrefix, type TestResult } from './run-vitest.ts'

const root = new URL('../..', import.meta.url).pathname
const { tests, isolated }: Asked = JSON.parse(process.env['BERTH_MUTANT_TESTS'] as string)

class InGivenOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => tests.indexOf(moduleId.slice(root.length))
    return files.toSorted((a, b) => place(a) - place(b))
  }
}

function print(file: string, failed?: { test: string; errors: readonly { message: string }[]; milliseconds: number }) {
  const { test = '', errors = [], milliseconds = 0 } = failed ?? {}
  const error = errors[0]?.message.split('\n')[0] ?? ''
  const result: TestResult = { file, ...(failed && { failure: { file, test, error, milliseconds } }) }
  process.stdout.write(`${resultPrefix}${JSON.stringify(result)}\n`)
}

/** One line for each test, so that who started the run sees progress. */
const reporter: Reporter = {
  onTestCaseResult: test => {
    const { state, errors = [] } = test.result()
    const milliseconds = test.diagnostic()?.duration ?? 0
    const failed = state === 'failed' ? { test: test.fullName, errors, milliseconds } : undefined
    print(test.module.relativeModuleId, failed)
  },
  onTestModuleEnd: module => {
    const errors = module.errors()
    if (errors.length > 0) print(module.relativeModuleId, { test: 'the file', errors, milliseconds: 0 })
  },
  onTestSuiteResult: suite => {
    const errors = suite.errors()
    if (errors.length > 0) print(suite.module.relativeModuleId, { test: suite.fullName, errors, milliseconds: 0 })
  },
  onTestRunEnd: (_, errors) => {
    if (errors.length > 0) print('', { test: 'outside of all tests', errors, milliseconds: 0 })
  },
}

export default defineConfig({
  root,
  test: {
    include: tests,
    globalSetup: 'test/mutation/given-databases.ts',
    reporters: [reporter],
    sequence: { sequencer: InGivenOrder },
    bail: 1,
    pool: 'forks',
    maxWorkers: 1,
    isolate: isolated,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 5_000 } },
    experimental: { viteModuleRunner: false },
  },
})
