// An upgraded cluster takes the name of the old one. Two renames do that, and a crash between them leaves no cluster of that
// name: the next start of either makes the second one.

import { access, rename } from 'node:fs/promises'

/** The name of an upgraded cluster that is complete. */
export function upgradedFolderOf(folder: string): string {
  return `${folder}-upgraded`
}

/** `kept` is the name that the old cluster gets. */
export async function swapClusters(folder: string, kept: string): Promise<void> {
  await rename(folder, kept)
  await finishUpgrade(folder)
}

export async function finishUpgrade(folder: string): Promise<void> {
  if (await exists(folder)) return
  await rename(upgradedFolderOf(folder), folder).catch((error: NodeJS.ErrnoException) => {
    // There was no upgrade, or another process has finished it.
    if (error.code !== 'ENOENT') throw error
  })
}

export async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
