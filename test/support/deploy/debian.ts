// A Debian to make images of, from the packages of this computer's Debian: what debian:12-slim is with a registry.

import { existsSync, globSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { docker, runProgram } from '../engine/docker.ts'

const cache = join(import.meta.dirname, '../../../node_modules/.cache/berth/debian')
/** Certificates of a proxy between this computer and the registry of npm, if it has one. */
const certificates = process.env['NODE_EXTRA_CA_CERTS']
const inside = '/etc/ssl/certs/extra.crt'

/** Imports a minimal Debian with further packages into the engine in a folder. It is built once for all runs. */
export async function importDebian(engine: string, image: string, packages: readonly string[] = []): Promise<void> {
  const tar = join(cache, `${['debian', ...packages].join('-')}.tar`)
  if (!existsSync(tar)) await build(tar, packages)
  const changes = certificates ? ['--change', `ENV NODE_EXTRA_CA_CERTS=${inside}`] : []
  await docker(engine, ['import', ...changes, tar, image])
}

async function build(tar: string, packages: readonly string[]): Promise<void> {
  await mkdir(cache, { recursive: true })
  const part = `${tar}.${process.pid}`
  const [, suite = ''] = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8')) ?? []
  const sources = globSync(['/etc/apt/sources.list', '/etc/apt/sources.list.d/*.{list,sources}'])
  const { code, stderr } = await runProgram('mmdebstrap', [
    // As images of Debian have it: nothing is lost if a build is interrupted.
    ...['--mode=root', '--variant=minbase', '--format=tar', '--dpkgopt=force-unsafe-io'],
    ...packages.map(name => `--include=${name}`),
    ...(certificates ? [`--customize-hook=install -D -m 644 ${certificates} "$1${inside}"`] : []),
    ...[suite, part, ...sources],
  ])
  if (code !== 0) {
    await rm(part, { force: true })
    throw new Error(`mmdebstrap ended with ${code}: ${stderr.slice(-2_000)}`)
  }
  await rename(part, tar)
}
