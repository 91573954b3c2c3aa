// A gateway that root starts takes its ports, makes its data folder and starts its database. Then it gives root up for good.

import { constants } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Config } from './config.ts'
import { makeDataDir } from './database/embedded/data-dir.ts'
import { canReach } from './database/embedded/engine.ts'
import { giveFile, makeFileFor } from './database/embedded/own-files.ts'
import { findRunUser, type RunUser } from './database/embedded/run-user.ts'

type Settings = Pick<Config, 'runAs' | 'dataDir' | 'demoKeyFile'>

/** What the program reads after its start, such as migrations. An installation with a strict umask closes each of them. */
const programFiles = ['package.json', 'src/app.ts', 'prisma/schema.prisma', 'node_modules/graphql/package.json']
/** The files of a data folder that a gateway reads or writes. PostgreSQL's own folder has its own user already. */
const ownFiles = /^(secret|demo-key(-[0-9a-f]{12})?|postgres(-\w+)?-password)$/

/** Returns why the process stays root; undefined if it is not root now. Throws if RUN_AS demands what cannot be. */
export async function giveUpRoot({ runAs, dataDir, demoKeyFile }: Settings): Promise<string | undefined> {
  const user = runAs === 'root' ? undefined : await findRunUser({ dataDir, runAs })
  if (!user) return undefined
  const problem = await findReadProblem(user)
  if (problem && runAs !== undefined) throw new Error(problem)
  if (problem) return problem
  if (demoKeyFile !== undefined) await prepareFile(demoKeyFile, user)
  await giveFiles(dataDir, user)
  become(user)
  return undefined
}

export async function findReadProblem(user: RunUser): Promise<string | undefined> {
  const root = resolve(import.meta.dirname, '..')
  for (const file of programFiles.map(name => join(root, name))) {
    if (await canRead(file, user)) continue
    return `The user "${user.name}" cannot read the program: ${file}. Move it where this user can, such as /opt, or set RUN_AS to another user.`
  }
  return undefined
}

export async function canRead(file: string, user: RunUser): Promise<boolean> {
  const { uid, gid, mode } = await stat(file)
  const { S_IRUSR, S_IRGRP, S_IROTH } = constants
  const needed = uid === user.uid ? S_IRUSR : gid === user.gid ? S_IRGRP : S_IROTH
  return (mode & needed) !== 0 && (await canReach(dirname(file), user))
}

/** The user may not create files in a folder of root, but may fill one that is there. */
async function prepareFile(file: string, user: RunUser): Promise<void> {
  const folder = dirname(file)
  await makeDataDir(folder)
  if (!(await canReach(folder, user))) {
    const advice = 'Set BERTH_DATA_DIR to a folder that this user can enter, or RUN_AS to another user.'
    throw new Error(`Berth works as the user "${user.name}", who cannot enter the data folder ${folder}. ${advice}`)
  }
  await makeFileFor(file, user)
}

/** Gives the user what root has made. */
async function giveFiles(dataDir: string, user: RunUser): Promise<void> {
  const names = await readdir(dataDir).catch(() => [])
  for (const name of names.filter(name => ownFiles.test(name))) await giveFile(join(dataDir, name), user)
}

/** There is no way back: the real, the effective and the saved user change. */
function become({ uid, gid, groups }: RunUser): void {
  // The folder of the cache is root's.
  flushCompileCache()
  process.setgroups?.(groups)
  process.setgid?.(gid)
  process.setuid?.(uid)
  try {
    process.setuid?.(0)
  } catch {
    // What this process starts must not look for its settings in root's folder.
    process.env['HOME'] = userInfo().homedir
    return
  }
  throw new Error('This system lets Berth become root again. Start it as an ordinary user.')
}
