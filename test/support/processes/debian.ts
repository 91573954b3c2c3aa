// Programs of Debian: as they are installed, or downloaded once without being installed.

import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../failover/programs.ts'

const run = promisify(execFile)
const cache = join(import.meta.dirname, '../../../node_modules/.cache/berth')

/** The words before the arguments of its command line; undefined, and a line in the output, if it is not to be had. */
export type DebianProgram = string[]

/** `packages`: that of the program first, and those of libraries that a small Debian lacks. */
export async function findDebianProgram(name: string, packages: string[]): Promise<DebianProgram | undefined> {
  const installed = findProgram(name)
  if (installed) return [installed]
  const folder = join(cache, packages[0] as string)
  try {
    if (!existsSync(folder)) await download(folder, packages)
  } catch (error) {
    process.stdout.write(`${name} was not tried: Debian's package is neither installed nor to be had. ${error}\n`)
    return undefined
  }
  const [path] = globSync(join(folder, `usr/{bin,sbin}/${name}`))
  if (!path) throw new Error(`The packages ${packages.join(' ')} have no program ${name}.`)
  return ['/usr/bin/env', `LD_LIBRARY_PATH=${globSync(join(folder, 'usr/lib/*-linux-gnu')).join(':')}`, path]
}

async function download(folder: string, packages: string[]): Promise<void> {
  const part = `${folder}.${process.pid}`
  await mkdir(part, { recursive: true })
  try {
    await run('apt-get', ['download', '-qq', ...packages], { cwd: part })
    for (const file of await readdir(part))
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(part, file), part])
    await rename(part, folder)
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}
