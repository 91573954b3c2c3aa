import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { EngineDetails } from './details.ts'
import { startEngine } from './engine.ts'

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
  const reason = obstacle()
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

/** Why no engine can run on this machine. */
function obstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can start one'
  const programs = ['dockerd', 'docker', 'docker-registry', 'iptables', 'ip', 'patchelf', 'ssh', 'scp']
  const missing = programs.filter(program => !isInstalled(program))
  return missing.length > 0 ? `this machine has no ${missing.join(', ')}` : undefined
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
