// Root works in folders of another user, who can put a link in the place of any file. So root opens what it changes without
// following links, and looks at what it has opened.

import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

type Owner = { uid: number; gid: number }

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Makes an empty file for its owner, unless something has its name. */
export async function makeFileFor(file: string, owner: Owner): Promise<void> {
  const handle = await openFile(file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK)
  if (handle) await withHandle(handle, () => give(handle, owner))
}

/** Gives away a file of root. Links, files with several names and files of others keep their owner. */
export async function giveFile(file: string, owner: Owner): Promise<void> {
  const handle = await openFile(file, O_RDONLY | O_NONBLOCK)
  if (handle) await withHandle(handle, () => give(handle, owner))
}

/** Writes a new file to the disk. Fails if something has its name. */
export async function writeNewFile(file: string, text: string, owner?: Owner): Promise<void> {
  const handle = await open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  await withHandle(handle, async () => {
    await handle.writeFile(text)
    if (owner) await give(handle, owner)
    await handle.sync()
  })
}

export async function readOwnFile(file: string): Promise<string> {
  const handle = await open(file, O_RDONLY | O_NOFOLLOW)
  return await withHandle(handle, () => handle.readFile('utf8'))
}

/** Changes a folder that this process has made. Fails if another one has taken its place. */
export async function changeFolder(folder: string, change: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  await withHandle(handle, async () => {
    const { uid } = await handle.stat()
    if (uid !== process.getuid?.()) throw new Error(`${folder} was replaced while Berth filled it.`)
    await change(handle)
  })
}

async function give(handle: FileHandle, { uid, gid }: Owner): Promise<void> {
  const entry = await handle.stat()
  if (entry.isFile() && entry.nlink === 1 && entry.uid === 0) await handle.chown(uid, gid)
}

/** A link, a socket, a pipe without readers, a folder, or nothing any more. */
const notFiles = new Set(['ELOOP', 'ENXIO', 'EISDIR', 'ENOENT'])

async function openFile(file: string, flags: number): Promise<FileHandle | undefined> {
  return await open(file, flags | O_NOFOLLOW, 0o600).catch((error: NodeJS.ErrnoException) => {
    if (!notFiles.has(error.code ?? '')) throw error
    return undefined
  })
}

async function withHandle<Result>(handle: FileHandle, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } finally {
    await handle.close()
  }
}
