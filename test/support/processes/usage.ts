// What processes use, as Linux counts it.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProgram } from './programs.ts'

/** Linux counts processor time in hundredths of a second. */
const tickMs = 10

/** The processor time that a program has used so far. */
async function cpuMsOf({ child }: RunningProgram): Promise<number> {
  const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

async function memoryMbOf({ child }: RunningProgram): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_000)
}

/** The part of one core that each program uses for `ms`, and its memory at the end. */
export async function measureUsage(programs: RunningProgram[], ms: number) {
  const before = await Promise.all(programs.map(cpuMsOf))
  const startedMs = performance.now()
  await sleep(ms)
  const tookMs = performance.now() - startedMs
  return await Promise.all(
    programs.map(async (program, index) => ({
      cpuPercent: Math.round((((await cpuMsOf(program)) - (before[index] ?? 0)) / tookMs) * 1_000) / 10,
      memoryMb: await memoryMbOf(program),
    })),
  )
}
