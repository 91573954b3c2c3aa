// Folders that get their name when they are whole, so that a crash leaves none that looks whole.

import { access, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

type AtomicFolder = {
  folder: string
  /** What is in it when it is there. */
  requiredEntry: string
  fill: (unfinished: string) => Promise<void>
}

/** Makes the folder when there is none. Any number of processes may try at once. */
export async function createFolderAtomically({ folder, requiredEntry, fill }: AtomicFolder): Promise<void> {
  const isComplete = () =>
    access(join(folder, requiredEntry)).then(
      () => true,
      () => false,
    )
  if (!(await isComplete())) {
    // Looked at once more: another process may have made it between the two.
    if ((await isTaken(folder)) && !(await isComplete())) {
      const advice = 'Move it away, or set BERTH_DATA_DIR to another folder.'
      throw new Error(`${folder} is in the way: what it holds was not made by Berth. ${advice}`)
    }
    const unfinished = await mkdtemp(unfinishedPrefix(folder))
    try {
      await fill(unfinished)
      await rename(unfinished, folder)
    } catch (error) {
      // When another process was first, its folder is as good.
      if (!(await isComplete())) throw error
    } finally {
      await rm(unfinished, { recursive: true, force: true })
    }
  }
  await removeUnfinished(folder)
}

/** Whether a file has the name, or a folder that is not empty: neither can be replaced by renaming. */
async function isTaken(folder: string): Promise<boolean> {
  return await readdir(folder).then(
    names => names.length > 0,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
}

/** Removes what was left by those who crashed. Whoever is still at it is too late, and takes the folder that is there. */
async function removeUnfinished(folder: string): Promise<void> {
  const prefix = basename(unfinishedPrefix(folder))
  const left = (await readdir(dirname(folder))).filter(name => name.startsWith(prefix))
  for (const name of left) await rm(join(dirname(folder), name), { recursive: true, force: true }).catch(() => {})
}

function unfinishedPrefix(folder: string): string {
  return `${folder}.unfinished-`
}
