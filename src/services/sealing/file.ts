// Replaces the secret of a data folder. The new secret is on the disk before the database needs it, so after a crash the
// command can be repeated.

import { randomBytes } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readOwnFile, writeNewFile } from '../../database/embedded/own-files.ts'
import { loadOrCreateSecret } from '../secrets.ts'

/** Makes a new secret, has `change` bring it into the database, and then replaces the file. Can be repeated if `change` can. */
export async function replaceSecret<Result>(
  file: string,
  change: (from: string, to: string) => Promise<Result>,
): Promise<Result> {
  const from = await loadOrCreateSecret(file)
  const nextFile = `${file}.next`
  const to = (await readNext(nextFile)) ?? (await makeNext(file, nextFile))
  const result = await change(from, to)
  await rename(nextFile, file)
  await writeFolder(file)
  return result
}

/** The new secret of a change that was interrupted. A file that is not complete was never used. */
async function readNext(nextFile: string): Promise<string | undefined> {
  const kept = await readOwnFile(nextFile).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (kept === undefined || /^[0-9a-f]{64}$/.test(kept)) return kept
  await rm(nextFile)
  return undefined
}

async function makeNext(file: string, nextFile: string): Promise<string> {
  const made = randomBytes(32).toString('hex')
  await writeNewFile(nextFile, made, await stat(file))
  await writeFolder(file)
  return made
}

/** A new name in a folder is on the disk only after this. */
async function writeFolder(file: string): Promise<void> {
  const folder = await open(dirname(file))
  await folder.sync().finally(() => folder.close())
}
