// Whole versions of Berth, each in a folder of its own.

import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newestMigration } from '../../../src/database/history/versions.ts'
import type { Migration } from '../../../src/database/migrations.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')

export type Version = { name: string; folder: string }

/** This version with further migrations, and its program otherwise as it is. */
export async function makeLaterVersion(name: string, migrations: readonly Migration[]): Promise<Version> {
  const folder = await makeFolder()
  for (const path of ['src', 'prisma', 'package.json'])
    await cp(join(root, path), join(folder, path), { recursive: true })
  for (const { name, script } of migrations) {
    await mkdir(join(folder, 'prisma/migrations', name))
    await writeFile(join(folder, 'prisma/migrations', name, 'migration.sql'), script)
  }
  return { name, folder }
}

/**
 * The version before this one, from the history of a clone: the newest release, or else what there was before the newest
 * migration. Undefined without a history, or if it needs other packages.
 */
export async function makeVersionBefore(): Promise<Version | undefined> {
  const commit = (await newestRelease()) ?? (await beforeNewestMigration())
  if (commit === undefined) return undefined
  const { dependencies } = JSON.parse((await git('show', `${commit}:package.json`)) ?? '{}')
  const ours = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).dependencies
  if (Object.entries(dependencies ?? { none: '' }).some(([name, version]) => ours[name] !== version)) return undefined
  const folder = await makeFolder()
  const archive = join(folder, 'archive.tar')
  await run('git', ['archive', '--output', archive, commit, 'src', 'prisma', 'package.json'], { cwd: root })
  await run('tar', ['--extract', '--file', archive], { cwd: folder })
  const prisma = join(root, 'node_modules/prisma/build/index.js')
  await run(process.execPath, [prisma, 'generate', '--config', 'prisma/prisma.config.ts'], { cwd: folder })
  return { name: commit.slice(0, 12), folder }
}

export async function removeVersions(versions: readonly (Version | undefined)[]): Promise<void> {
  for (const version of versions) if (version) await rm(version.folder, { recursive: true, force: true })
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-version-'))
  // Also for the user that gateways become if root starts them.
  await chmod(folder, 0o755)
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

const newestRelease = () => git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')

/** If the newest migration is not committed yet, the last commit is the version before. */
async function beforeNewestMigration(): Promise<string | undefined> {
  const path = `prisma/migrations/${newestMigration}`
  const added = await git('log', '-1', '--diff-filter=A', '--format=%H^', '--', path)
  return await git('rev-parse', '--verify', '--quiet', added || 'HEAD')
}

/** Undefined if git fails. */
async function git(...args: string[]): Promise<string | undefined> {
  return await run('git', args, { cwd: root }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}
