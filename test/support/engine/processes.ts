import { spawn } from 'node:child_process'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Starts a program that outlives this process, and returns its id. Its output is appended to a file. */
export function startDaemon(program: string, args: string[], log: string): number {
  const output = openSync(log, 'a')
  const child = spawn(program, args, { detached: true, stdio: ['ignore', output, output] })
  child.on('error', () => {})
  child.unref()
  if (child.pid === undefined) throw new Error(`${program} cannot be started.`)
  return child.pid
}

export async function waitFor(condition: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(20)) if (await condition()) return true
  return false
}

/** Ends a process, by force if it does not end in time. */
export async function endProcess(pid: number, { signal = 'SIGTERM', ms = 10_000 }: EndOptions = {}): Promise<void> {
  signalProcess(pid, signal)
  if (await waitFor(() => !isRunning(pid), ms)) return
  signalProcess(pid, 'SIGKILL')
  await waitFor(() => !isRunning(pid), 2_000)
}

type EndOptions = { signal?: 'SIGTERM' | 'SIGKILL'; ms?: number }

/** A process that ended but was not collected by its parent does not run. */
export function isRunning(pid: number): boolean {
  const stat = readProc(pid, 'stat')
  return stat !== '' && !/\) [ZX] /.test(stat)
}

/** The processes whose command line has a text, and all that they started. */
export function processTree(text: string): number[] {
  const all = readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 1 && pid !== process.pid)
  const parents = new Map(all.map(pid => [pid, Number(/\) \S (\d+)/.exec(readProc(pid, 'stat'))?.[1])]))
  const found = new Set(all.filter(pid => readProc(pid, 'cmdline').includes(text)))
  for (let size = 0; size < found.size; ) {
    size = found.size
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid)
  }
  return [...found]
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
