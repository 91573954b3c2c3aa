import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NetworkSettings } from './network.ts'
import { isRunning, waitFor } from './processes.ts'

const path = join(tmpdir(), 'berth-test-engine.lock')
const waitMs = 300_000

/** What the lock says of the run that holds it. Its engine can be cleaned up with it if the run was killed. */
export type LockHolder = { pid: number; engine?: { folder: string; network: NetworkSettings } }

/** Waits until no other run on this machine has an engine. `cleanUp` gets what a killed run left behind. */
export async function takeLock(cleanUp: (engine: NonNullable<LockHolder['engine']>) => Promise<void>): Promise<void> {
  let printed = false
  const isTaken = async () => {
    try {
      await writeFile(path, JSON.stringify({ pid: process.pid } satisfies LockHolder), { flag: 'wx' })
      return true
    } catch {
      const holder = await readHolder()
      if (!holder || isRunning(holder.pid)) {
        if (!printed && holder) process.stdout.write(`Waiting for the test engine of process ${holder.pid}.\n`)
        printed ||= holder !== undefined
        return false
      }
      if (holder.engine) await cleanUp(holder.engine)
      await rm(path, { force: true })
      return false
    }
  }
  if (!(await waitFor(isTaken, waitMs))) throw new Error(`Another run holds ${path} for too long.`)
}

export async function recordEngine(engine: NonNullable<LockHolder['engine']>): Promise<void> {
  await writeFile(path, JSON.stringify({ pid: process.pid, engine } satisfies LockHolder))
}

export async function releaseLock(): Promise<void> {
  await rm(path, { force: true })
}

async function readHolder(): Promise<LockHolder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    // It was released, or is being written.
    return undefined
  }
}
