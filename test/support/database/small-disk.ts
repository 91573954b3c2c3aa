// A disk in memory that is full on command.

import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** It takes memory only for what is on it. */
const sizeBytes = 4 * 2 ** 30

/** Mounts it in a folder. Undefined if this user may not mount. */
export async function mountSmallDisk(folder: string) {
  const options = `size=${sizeBytes},mode=711`
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).then(
    () => true,
    () => false,
  )
  if (!isMounted) return undefined
  const resize = (bytes: number) => run('mount', ['-o', `remount,size=${bytes}`, folder])
  return {
    /** Makes it as small as its content. Others may add to this meanwhile, and then the system refuses. */
    async fill(): Promise<void> {
      for (let spareBytes = 0; ; spareBytes += 65_536) {
        const { blocks, bfree, bsize } = await statfs(folder)
        const isFull = await resize((blocks - bfree) * bsize + spareBytes).then(
          () => true,
          () => false,
        )
        if (isFull) return
      }
    },
    free: () => resize(sizeBytes),
    unmount: () => run('umount', ['--lazy', folder]),
  }
}
