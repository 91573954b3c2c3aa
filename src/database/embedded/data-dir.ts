import { chmod, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { toError } from '../failure-codes.ts'

/** As root, another user must be able to pass through, whatever the umask is. Folders that exist are left as they are. */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700)
  } catch (error) {
    throw dataDirError(dataDir, toError(error))
  }
}

/** Reports a file in the data folder that cannot be read or written as a fault of the folder. Rethrows other errors. */
export async function withDataDirErrors<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  return await work().catch((error: NodeJS.ErrnoException) => {
    throw error.syscall && error.path?.startsWith(dataDir) ? dataDirError(dataDir, error) : error
  })
}

function dataDirError(dataDir: string, { message }: Error): Error {
  return new Error(`The data folder ${dataDir} cannot be used: ${message}. Set BERTH_DATA_DIR to another folder.`)
}

/** Level by level: where a folder cannot hold others, such as /proc, Node's own recursion never ends. */
async function makeFolder(folder: string, mode: number): Promise<void> {
  if (await isFolder(folder)) return
  if (dirname(folder) !== folder) await makeFolder(dirname(folder), mode)
  await mkdir(folder, { mode }).catch((error: NodeJS.ErrnoException) => {
    // Another process made it in the meantime.
    if (error.code !== 'EEXIST') throw error
  })
  await chmod(folder, mode)
}

async function isFolder(path: string): Promise<boolean> {
  const entry = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (entry && !entry.isDirectory()) throw new Error(`${path} is not a folder`)
  return entry !== undefined
}
