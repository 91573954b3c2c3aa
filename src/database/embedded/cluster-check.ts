// Finds out why PostgreSQL cannot start in a folder: from its files before the start, and from its log after it.

import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from './engine.ts'

type ClusterLocation = { engine: Engine; folder: string }

export const logFileOf = (folder: string) => join(folder, 'server.log')

/** PostgreSQL refuses a folder that its group may write to, or that other users may access at all. */
const forbiddenMode = 0o027

/** Throws if this version's server cannot run in the folder. A folder that does not exist yet passes. */
export async function checkCluster({ engine, folder }: ClusterLocation): Promise<void> {
  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => error)
  // Missing, or not a folder: creating it reports a better error.
  if (version instanceof Error && version.code !== 'EACCES') return
  const complaint = findOwnershipProblem(await stat(folder), engine.runAs.uid ?? process.getuid?.())
  if (complaint) throw clusterError(folder, complaint)
  if (version instanceof Error) throw clusterError(folder, `${version.message}.`)
  const folderMajor = version.trim()
  if (folderMajor === engine.major) return
  const upgrade = 'Move the database with the command "upgrade-database", start'
  const advice = `${Number(folderMajor) < Number(engine.major) ? upgrade : 'Start'} the version of Berth that made the folder, or set BERTH_DATA_DIR to another folder.`
  const cause = `PostgreSQL ${folderMajor} made the folder, but this version of Berth has PostgreSQL ${engine.major}.`
  throw clusterError(folder, `${cause} ${advice}`)
}

/** `user` is the id of the user that the server runs as; undefined on platforms without user ids. */
export function findOwnershipProblem(
  { uid, mode }: { uid: number; mode: number },
  user: number | undefined,
): string | undefined {
  if (user === undefined) return undefined
  if (uid !== user)
    return `The folder belongs to user ${uid}, but PostgreSQL runs as user ${user}. Change its owner: chown -R ${user}.`
  if ((mode & forbiddenMode) === 0) return undefined
  const printedMode = (mode & 0o777).toString(8).padStart(4, '0')
  return `The folder's mode is ${printedMode}, but PostgreSQL accepts only 0700 or 0750. Change it: chmod 0700.`
}

export function clusterError(folder: string, cause: string): Error {
  return new Error(`PostgreSQL cannot run in ${folder}. ${cause} PostgreSQL's log is ${logFileOf(folder)}.`)
}

export async function readLogSize(folder: string): Promise<number> {
  return await stat(logFileOf(folder)).then(
    ({ size }) => size,
    () => 0,
  )
}

/** Why the server ended, from its log after position `since`; undefined if the log does not say. */
export async function readFailureCause(folder: string, since: number): Promise<string | undefined> {
  try {
    const file = await open(logFileOf(folder))
    const { buffer, bytesRead } = await file.read({ position: since }).finally(() => file.close())
    return parseFailureCause(buffer.toString('utf8', 0, bytesRead))
  } catch {
    return undefined
  }
}

/** The first fatal line, with up to two lines of detail and hints that follow it. */
export function parseFailureCause(printed: string): string | undefined {
  const lines = printed.split('\n').map(line => {
    const [, level = '', text = ''] = /(FATAL|PANIC|DETAIL|HINT|error): +(.+)$/.exec(line) ?? []
    return {
      text,
      isFatal: level !== '' && !['DETAIL', 'HINT'].includes(level),
      isMore: ['DETAIL', 'HINT'].includes(level),
    }
  })
  const first = lines.findIndex(({ isFatal }) => isFatal)
  if (first < 0) return undefined
  const more = lines.slice(first + 1, first + 3).filter(({ isMore }) => isMore)
  return [...lines.slice(first, first + 1), ...more].map(({ text }) => asSentence(text)).join(' ')
}

export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`
}
