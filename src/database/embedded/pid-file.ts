// Identifies the process that postmaster.pid names: the folder's server, or a process that reuses a crashed server's
// id.

import { execFile } from 'node:child_process'
import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCodesOf } from '../failure-codes.ts'

type PidFileProcess = {
  pid: number
  isServer: boolean
  /** Empty if unknown: for a process that is ending, and for a kernel thread. */
  command: string
  /** The process has ended, but its parent has not reaped it yet. PostgreSQL still considers it alive. */
  isZombie: boolean
}

/** The running process that the folder's pid file names; undefined if there is none. */
export async function findPidFileProcess(folder: string): Promise<PidFileProcess | undefined> {
  const file = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(file.split('\n')[0])
  if (!(pid > 0) || !isAlive(pid)) return undefined
  return { pid, ...(await readCommand(pid, folder)), isZombie: await isZombie(pid) }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return errorCodesOf(error).includes('EPERM')
  }
}

type ServerCommand = Pick<PidFileProcess, 'isServer' | 'command'>

async function readCommand(pid: number, folder: string): Promise<ServerCommand> {
  const parts = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  if (parts === undefined) return await readCommandFromPs(pid)
  const words = parts.split('\0').filter(word => word !== '')
  const at = words.indexOf('-D')
  const dataFolder = at < 0 ? undefined : await realpath(words[at + 1] ?? '').catch(() => undefined)
  return { isServer: dataFolder !== undefined && dataFolder === (await realpath(folder)), command: words.join(' ') }
}

async function isZombie(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The state follows the name in parentheses. The name may contain any character.
  return /^ [ZX]/.test(status.slice(status.lastIndexOf(')') + 1))
}

/** For systems without /proc. If `ps` cannot tell, the process counts as the server, so its pid file stays. */
async function readCommandFromPs(pid: number): Promise<ServerCommand> {
  const listed = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => undefined)
  const command = listed?.stdout.trim() ?? ''
  return { isServer: command === '' || command.includes('postgres'), command }
}
