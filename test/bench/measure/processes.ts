// CPU time and memory of processes, from /proc. Without it, as on macOS, both are undefined.

import { readdir, readFile } from 'node:fs/promises'

/** The kernel counts CPU time in hundredths of a second. */
const tickMs = 10

/** The CPU time of a process in ms. */
export async function readCpuMs(pid: number): Promise<number | undefined> {
  const fields = await readStat(pid)
  return fields && (Number(fields[11]) + Number(fields[12])) * tickMs
}

/** The CPU time of a server and all its child processes in ms, including children that have ended. */
export async function readTreeCpuMs(pid: number): Promise<number | undefined> {
  const server = await readStat(pid)
  if (!server) return undefined
  const own = server.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs
  const pids = (await readdir('/proc')).map(Number).filter(Boolean)
  const others = await Promise.all(pids.map(readStat))
  const children = others.flatMap(fields => (fields?.[1] === String(pid) ? [fields] : []))
  return children.reduce((sum, fields) => sum + (Number(fields[11]) + Number(fields[12])) * tickMs, own)
}

/** The parent of a process. */
export async function readParent(pid: number): Promise<number | undefined> {
  const fields = await readStat(pid)
  return fields && Number(fields[1])
}

/** The memory that a process has in use, in MB. */
export async function readMemoryMb(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? []
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024
}

/** The fields of /proc/PID/stat after the name: state, parent, … The name is in parentheses and may have any character. */
async function readStat(pid: number): Promise<string[] | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}
