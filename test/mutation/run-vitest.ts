import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Databases } from '../support/global-setup.ts'

/** Test files in the order to run them, each in a process of its own or all in one. */
export type Asked = { tests: string[]; isolated: boolean }
/** What failed: a test, or a file as a whole, before or after its tests. */
export type Failure = { file: string; test: string; error: string; isWholeFile: boolean; milliseconds: number }

/** What a run prints for each test, after this prefix. */
export type TestResult = { file: string; failure?: Failure }
export const resultPrefix = 'result of a test: '

/** An endless loop lets no test end, and no time limit of a test ends it. */
const stalledAfterMs = 120_000

/** Who ends the run ends its tests: that fails it, and what it started is removed. */
const endings = ['exit', 'SIGINT', 'SIGTERM'] as const

export async function firstFailure(root: string, databases: Databases, asked: Asked): Promise<Failure | undefined> {
  if (asked.tests.length === 0) return undefined
  const child = startVitest(root, { BERTH_MUTANT_TESTS: asked, BERTH_MUTANT_DATABASES: databases })
  let interrupted = false
  const end = () => process.kill(-(child.pid as number), 'SIGKILL')
  const interrupt = () => {
    interrupted = true
    end()
  }
  for (const signal of endings) process.once(signal, interrupt)
  const complaint = text(child.stderr)
  const exited = once(child, 'exit')
  const failure = await readFailure(child.stdout, asked.tests, end)
  const [code] = await exited
  for (const signal of endings) process.off(signal, interrupt)
  if (interrupted) throw new Error('The run was interrupted.')
  if (!failure && code !== 0) throw new Error(`Vitest did not end: ${await complaint}`)
  return failure
}

function startVitest(root: string, variables: Record<string, unknown>) {
  const given = Object.entries(variables).map(([name, value]) => [name, JSON.stringify(value)])
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  return spawn(process.execPath, [vitest, 'run', '--config', 'test/mutation/vitest.config.ts'], {
    cwd: root,
    env: { ...process.env, ...Object.fromEntries(given), NODE_COMPILE_CACHE: join(root, '.compiled') },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that the end of Vitest is the end of its workers, too.
    detached: true,
  })
}

/** Reads one line for each test, and calls `end` if there is none for too long: then the file that ran last has failed. */
export async function readFailure(
  output: Readable,
  [first = '']: readonly string[],
  end: () => void,
): Promise<Failure | undefined> {
  let file = first
  let failure: Failure | undefined
  const onStall = () => {
    failure ??= { file, test: '', error: 'no test ended for too long', isWholeFile: true, milliseconds: stalledAfterMs }
    end()
  }
  const timer = setTimeout(onStall, stalledAfterMs)
  for await (const line of createInterface(output)) {
    if (!line.startsWith(resultPrefix)) continue
    timer.refresh()
    const result: TestResult = JSON.parse(line.slice(resultPrefix.length))
    file = result.file || file
    failure ??= result.failure
  }
  clearTimeout(timer)
  return failure
}
