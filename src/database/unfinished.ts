// Folders that get their name when they are whole, so that a crash leaves none that looks whole.

import { access, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

type Making = {
  folder: string
  /** What is in it when it is there. */
  mark: string
  fill: (unfinished: string) => Promise<void>
}

/** Makes the folder when there is none. Any number of processes may try at once. */
export async function makeWhole({ folder, mark, fill }: Making): Promise<void> {
  const isThere = () =>
    access(join(folder, mark)).then(
      () => true,
      () => false,
    )
  if (!(await isThere())) {
    // Looked at once more: another process may have made it between the two.
    if ((await isTaken(folder)) && !(await isThere())) {
      const advice = 'Move it away, or set BERTH_DATA_DIR to another folder.'
      throw new Error(`${folder} is in the way: what it holds was not made by Berth. ${advice}`)
    }
    const unfinished = await mkdtemp(nameFor(folder))
    try {
      await fill(unfinished)
      await rename(unfinished, folder)
    } catch (error) {
      // When another process was first, its folder is as good.
      if (!(await isThere())) throw error
    } finally {
      await rm(unfinished, { recursive: true, force: true })
    }
  }
  await sweep(folder)
}

/** Whether a file has the name, or a folder that is not empty: neither can be replaced by renaming. */
async function isTaken(folder: string): Promise<boolean> {
  return await readdir(folder).then(
    names => names.length > 0,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
}

/** Removes what was left by those who crashed. Whoever is still at it is too late, and takes the folder that is there. */
async function sweep(folder: string): Promise<void> {
  const prefix = basename(nameFor(folder))
  const left = (await readdir(dirname(folder))).filter(name => name.startsWith(prefix))
  for (const name of left) await rm(join(dirname(folder), name), { recursive: true, force: true }).catch(() => {})
}

function nameFor(folder: string): string {
  return `${folder}.unfinished-`
}
