// What keeps PostgreSQL from starting in a folder: seen in its files before the start, and in its log after it.

import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from './engine.ts'

type ClusterLocation = { engine: Engine; folder: string }

export const logFileOf = (folder: string) => join(folder, 'server.log')

/** PostgreSQL refuses folders that a group may write to, or that others may use at all. */
const forbiddenMode = 0o027

/** Throws when the server of this version cannot run in the folder. One that is still to be made passes. */
export async function checkCluster({ engine, folder }: ClusterLocation): Promise<void> {
  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => error)
  // Not there, or not a folder: the making of it says more.
  if (version instanceof Error && version.code !== 'EACCES') return
  const complaint = findOwnershipProblem(await stat(folder), engine.runAs.uid ?? process.getuid?.())
  if (complaint) throw clusterError(folder, complaint)
  if (version instanceof Error) throw clusterError(folder, `${version.message}.`)
  const made = version.trim()
  if (made === engine.major) return
  const advice = 'Start the version of Berth that made it, or set BERTH_DATA_DIR to another folder.'
  throw clusterError(folder, `PostgreSQL ${made} made it, and this is PostgreSQL ${engine.major}. ${advice}`)
}

/** `user` is whom the server runs as; undefined where the platform has no such ids. */
export function findOwnershipProblem(
  { uid, mode }: { uid: number; mode: number },
  user: number | undefined,
): string | undefined {
  if (user === undefined) return undefined
  if (uid !== user)
    return `It belongs to user ${uid}, and PostgreSQL runs as user ${user}. Give it back: chown -R ${user}.`
  if ((mode & forbiddenMode) === 0) return undefined
  return `Its mode is ${(mode & 0o777).toString(8).padStart(4, '0')}, and PostgreSQL takes 0700 or 0750. Set it: chmod 0700.`
}

export function clusterError(folder: string, cause: string): Error {
  return new Error(`PostgreSQL cannot run in ${folder}. ${cause} Its log is ${logFileOf(folder)}.`)
}

export async function readLogSize(folder: string): Promise<number> {
  return await stat(logFileOf(folder)).then(
    ({ size }) => size,
    () => 0,
  )
}

/** Why the server ended, from what it wrote to its log since; undefined when it wrote nothing of it. */
export async function readFailureCause(folder: string, since: number): Promise<string | undefined> {
  try {
    const file = await open(logFileOf(folder))
    const { buffer, bytesRead } = await file.read({ position: since }).finally(() => file.close())
    return parseFailureCause(buffer.toString('utf8', 0, bytesRead))
  } catch {
    return undefined
  }
}

/** The first fatal line, and what its next lines say of it. */
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
