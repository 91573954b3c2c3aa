import { constants } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DiskFacts } from '../verdicts/disk.ts'

/** Files of the data folder that only their owner may open. */
const secretFiles = /^(secret|demo-key(-[0-9a-f]+)?|postgres(-\w+)?-password)$/

/** `databaseBytes`: the size of the database in the folder; null if it is elsewhere. */
export async function gatherDisk(folder: string, databaseBytes: number | null): Promise<DiskFacts> {
  const place = await nearestFolder(folder)
  const { bavail, bsize } = await statfs(place)
  return {
    folder,
    exists: place === folder,
    isWritable: await access(place, constants.W_OK | constants.X_OK).then(
      () => true,
      () => false,
    ),
    freeBytes: bavail * bsize,
    databaseBytes,
    readableSecrets: await findReadableSecrets(folder),
  }
}

/** The folder, or the one in which it would be made. */
async function nearestFolder(path: string): Promise<string> {
  const entry = await stat(path).catch(() => undefined)
  return entry?.isDirectory() || dirname(path) === path ? path : await nearestFolder(dirname(path))
}

async function findReadableSecrets(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const files = names.filter(name => secretFiles.test(name)).map(name => join(folder, name))
  const modes = await Promise.all(files.map(async file => ({ file, mode: (await stat(file)).mode })))
  return modes.filter(({ mode }) => (mode & 0o077) !== 0).map(({ file }) => file)
}
