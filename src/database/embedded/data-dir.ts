import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { toError } from '../failure-codes.ts'
import { changeFolder } from './own-files.ts'

/**
 * Creates the data folder. For root, its mode lets the database's user pass through, whatever the umask is. Existing
 * folders keep their mode.
 */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700)
  } catch (error) {
    throw dataDirError(dataDir, toError(error))
  }
}

/** Turns an error about a file in the data folder into an error about the data folder. Rethrows other errors. */
export async function withDataDirErrors<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  return await work().catch((error: NodeJS.ErrnoException) => {
    throw error.syscall && error.path?.startsWith(dataDir) ? dataDirError(dataDir, error) : error
  })
}

function dataDirError(dataDir: string, { message }: Error): Error {
  return new Error(`The data folder ${dataDir} cannot be used: ${message}. Set BERTH_DATA_DIR to another folder.`)
}

/** Creates folders level by level: in one that cannot hold others, such as /proc, Node's own recursion never ends. */
async function makeFolder(folder: string, mode: number): Promise<void> {
  if (await isFolder(folder)) return
  if (dirname(folder) !== folder) await makeFolder(dirname(folder), mode)
  await mkdir(folder, { mode }).catch((error: NodeJS.ErrnoException) => {
    // Another process created it meanwhile.
    if (error.code !== 'EEXIST') throw error
  })
  await changeFolder(folder, handle => handle.chmod(mode))
}

async function isFolder(path: string): Promise<boolean> {
  const entry = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (entry && !entry.isDirectory()) throw new Error(`${path} is not a folder`)
  return entry !== undefined
}
