import type { TestProject } from 'vitest/node'
import type { EngineDetails } from './details.ts'
import { startEngine } from './engine.ts'
import { engineObstacle } from './obstacle.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The engine of this run. Null where none can run. */
    engine: EngineDetails | null
  }
}

/**
 * Starts the engine that the files of test/engine share. Where it cannot run, their tests are skipped, unless
 * BERTH_TEST_ENGINE is "required".
 */
export default async function setup({ provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const isRequired = process.env['BERTH_TEST_ENGINE'] === 'required'
  const reason = engineObstacle()
  if (reason && isRequired) throw new Error(`BERTH_TEST_ENGINE is "required", but ${reason}.`)
  if (reason) {
    process.stdout.write(`Tests with a Docker Engine are skipped: ${reason}.\n`)
    provide('engine', null)
    return undefined
  }
  const { stop, killEngine: _, restartEngine: __, ...details } = await startEngine()
  provide('engine', details)
  return stop
}
