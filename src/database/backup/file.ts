// The file of a backup: a header, the compressed tables, and a digest of both.

import { createHash } from 'node:crypto'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { toError } from '../failure-codes.ts'
import { format, formatVersion, type Header } from './header.ts'

const digestBytes = 32
/** More than the header of any database. */
const maxHeaderBytes = 1_000_000
const chunkBytes = 262_144

/**
 * Writes the file under another name, and gives it its own when it is complete and on the disk. Only its owner may read it.
 * Returns its size.
 */
export async function writeBackupFile(file: string, header: Header, tables: AsyncIterable<Buffer>): Promise<number> {
  const part = `${file}.part`
  try {
    await refuseOtherFile(file)
    await rm(part, { force: true })
    const handle = await open(part, 'wx', 0o600)
    try {
      await pipeline(tables, createZstdCompress(), compressed => handle.writeFile(withDigest(header, compressed)))
      await handle.sync()
      const { ino, size } = await handle.stat()
      if ((await stat(part)).ino !== ino) throw new Error('another backup replaced it')
      await rename(part, file)
      await syncFolder(dirname(file))
      return size
    } catch (error) {
      await rm(part, { force: true })
      throw error
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw new Error(`The backup cannot be written to ${file}: ${toError(error).message}.`, { cause: error })
  }
}

/** A newer backup replaces an older one. Any other file is not meant. */
async function refuseOtherFile(file: string): Promise<void> {
  const entry = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (!entry) return
  if (!entry.isFile()) throw new Error('it is no file')
  const handle = await open(file, 'r')
  try {
    if (!(await readHeader(handle))) throw new Error('the file exists already, and is no backup')
  } finally {
    await handle.close()
  }
}

async function* withDigest(header: Header, compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const line = Buffer.from(`${JSON.stringify(header)}\n`)
  hash.update(line)
  yield line
  for await (const chunk of compressed) {
    hash.update(chunk)
    yield chunk
  }
  yield hash.digest()
}

/** Makes a new name in a folder survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

export type BackupFile = { header: Header; tables(): AsyncIterable<Buffer>; close(): Promise<void> }

/** Opens a backup, and reads it once to check that it is as it was written. */
export async function openBackupFile(file: string): Promise<BackupFile> {
  const handle = await open(file, 'r').catch((error: Error) => {
    throw new Error(`The backup ${file} cannot be read: ${error.message}.`)
  })
  try {
    const found = await readHeader(handle)
    if (!found) throw new Error(`${file} is no backup of Berth.`)
    const { header, length } = found
    if (header.version > formatVersion)
      throw new Error(`A newer version of Berth wrote ${file}. Restore it with that version.`)
    const end = (await handle.stat()).size - digestBytes
    if (!(await hasDigest(handle, end)))
      throw new Error(`${file} is damaged: it is not as Berth wrote it. Use another backup.`)
    return {
      header,
      tables() {
        const tables = createZstdDecompress()
        // The reader of the tables gets the error.
        pipeline(readRange(handle, length, end), tables).catch(() => {})
        return tables
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The header, and its length with the end of the line. Undefined if the file is no backup. */
async function readHeader(handle: FileHandle): Promise<{ header: Header; length: number } | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxHeaderBytes), 0, maxHeaderBytes, 0)
  const end = buffer.subarray(0, bytesRead).indexOf('\n')
  try {
    const header = JSON.parse(buffer.toString('utf8', 0, end))
    return header.format === format ? { header, length: end + 1 } : undefined
  } catch {
    return undefined
  }
}

async function hasDigest(handle: FileHandle, end: number): Promise<boolean> {
  const hash = createHash('sha256')
  if (end <= 0) return false
  for await (const chunk of readRange(handle, 0, end)) hash.update(chunk)
  const { buffer } = await handle.read(Buffer.alloc(digestBytes), 0, digestBytes, end)
  return hash.digest().equals(buffer)
}

async function* readRange(handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position < end; ) {
    const size = Math.min(chunkBytes, end - position)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, position)
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
