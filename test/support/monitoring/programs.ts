// Debian's Prometheus: as it is installed, or downloaded once without being installed.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../failover/programs.ts'

const run = promisify(execFile)
const cache = join(import.meta.dirname, '../../../node_modules/.cache/berth/prometheus')

/** The folder with prometheus and promtool; undefined, and a line in the output, if there is none. */
export async function findPrometheus(): Promise<string | undefined> {
  const installed = findProgram('promtool')
  if (installed && findProgram('prometheus')) return dirname(installed)
  try {
    if (!existsSync(cache)) await download()
    return join(cache, 'usr/bin')
  } catch (error) {
    process.stdout.write(`No Prometheus was tried: Debian's package is neither installed nor to be had. ${error}\n`)
    return undefined
  }
}

async function download(): Promise<void> {
  const part = `${cache}.${process.pid}`
  await mkdir(part, { recursive: true })
  try {
    await run('apt-get', ['download', '-qq', 'prometheus'], { cwd: part })
    const [file = ''] = await readdir(part)
    await run('dpkg-deb', ['-x', join(part, file), part])
    await rename(part, cache)
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}
