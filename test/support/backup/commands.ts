// Operators' commands as processes, whose memory is measured and which can be killed.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type RunningProgram, spawnProgram } from '../processes/programs.ts'

type Env = Record<string, string>

export function startCommand(env: Env, ...args: string[]): RunningProgram {
  return spawnProgram('src/cli.ts', args, env)
}

/** The most memory that a command has had at once, and its answer. */
export async function runMeasured(env: Env, ...args: string[]) {
  const startedMs = performance.now()
  const command = startCommand(env, ...args)
  let peakMb = 0
  let isRunning = true
  const ended = command.exit.then(code => {
    isRunning = false
    return code
  })
  while (isRunning) {
    const status = await readFile(`/proc/${command.child.pid}/status`, 'utf8').catch(() => '')
    peakMb = Math.max(peakMb, Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1_000))
    await sleep(20)
  }
  expect(await ended, command.errors()).toBe(0)
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10
  return { peakMb, seconds, result: JSON.parse(command.output()) }
}

/** Kills a command after some time. Returns whether it still ran; otherwise it must have succeeded. */
export async function runKilled(afterMs: number, env: Env, ...args: string[]): Promise<boolean> {
  const command = startCommand(env, ...args)
  await Promise.race([sleep(afterMs), command.exit])
  command.child.kill('SIGKILL')
  const code = await command.exit
  if (code !== null) expect(code, command.errors()).toBe(0)
  return code === null
}
