// Folders that get their name only when they are complete, so a crash never leaves a partial folder under that name.

import { access, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

type AtomicFolder = {
  folder: string
  /** Every complete folder contains this entry. */
  requiredEntry: string
  fill: (unfinished: string) => Promise<void>
}

/** Creates the folder unless it exists. Any number of processes may try at once. */
export async function createFolderAtomically({ folder, requiredEntry, fill }: AtomicFolder): Promise<void> {
  const isComplete = () =>
    access(join(folder, requiredEntry)).then(
      () => true,
      () => false,
    )
  if (!(await isComplete())) {
    // Checked again: another process may have completed the folder in between.
    if ((await isTaken(folder)) && !(await isComplete())) {
      const advice = 'Move it away, or set BERTH_DATA_DIR to another folder.'
      throw new Error(`${folder} exists already, and its contents are not from Berth. ${advice}`)
    }
    const unfinished = await mkdtemp(unfinishedPrefix(folder))
    try {
      await fill(unfinished)
      await rename(unfinished, folder)
    } catch (error) {
      // If another process finished first, its folder serves as well.
      if (!(await isComplete())) throw error
    } finally {
      await rm(unfinished, { recursive: true, force: true })
    }
  }
  await removeUnfinished(folder)
}

/** Whether the path is a file or a folder with entries. A rename can replace neither. */
async function isTaken(folder: string): Promise<boolean> {
  return await readdir(folder).then(
    names => names.length > 0,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
}

/** Removes folders of crashed processes. A process that is still filling one then uses the complete folder. */
async function removeUnfinished(folder: string): Promise<void> {
  const prefix = basename(unfinishedPrefix(folder))
  const unfinished = (await readdir(dirname(folder))).filter(name => name.startsWith(prefix))
  for (const name of unfinished) await rm(join(dirname(folder), name), { recursive: true, force: true }).catch(() => {})
}

function unfinishedPrefix(folder: string): string {
  return `${folder}.unfinished-`
}
