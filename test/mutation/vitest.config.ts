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

type Errors = readonly { message: string }[]

function print(file: string, failed?: { test?: string; errors: Errors; milliseconds?: number | undefined }) {
  const { test = '', errors = [], milliseconds = 0 } = failed ?? {}
  const error = errors[0]?.message.split('\n')[0] ?? ''
  const failure = { file, test, error, isWholeFile: test === '', milliseconds }
  const result: TestResult = { file, ...(failed && { failure }) }
  process.stdout.write(`${resultPrefix}${JSON.stringify(result)}\n`)
}

const printErrors = (file: string, errors: Errors) => {
  if (errors.length > 0) print(file, { errors })
}

/** One line for each test, so that who started the run sees progress. */
const reporter: Reporter = {
  onTestCaseResult: test => {
    const { state, errors = [] } = test.result()
    const failed = { test: test.fullName, errors, milliseconds: test.diagnostic()?.duration }
    print(test.module.relativeModuleId, state === 'failed' ? failed : undefined)
  },
  onTestSuiteResult: suite => printErrors(suite.module.relativeModuleId, suite.errors()),
  onTestModuleEnd: module => printErrors(module.relativeModuleId, module.errors()),
  onTestRunEnd: (_, errors) => printErrors('', errors),
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
