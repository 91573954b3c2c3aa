import { type Check, fail, ok, warn } from '../check.ts'

export type DiskFacts = {
  folder: string
  exists: boolean
  /** Whether this user may write to the folder, or make it. */
  isWritable: boolean
  freeBytes: number
  /** The size of the database that Berth brings along; null if it is elsewhere. */
  databaseBytes: number | null
  /** Files with secrets that others than their owner may read or write. */
  readableSecrets: readonly string[]
}

const leastBytes = 200e6
/** The WAL of a busy hour, and logs. */
const roomBytes = 2e9

export function checkDisk(facts: DiskFacts): Check[] {
  return [checkFolder(facts), checkSpace(facts), ...facts.readableSecrets.map(checkReadable)]
}

function checkFolder({ folder, exists, isWritable }: DiskFacts): Check {
  const advice = 'Set BERTH_DATA_DIR to a folder that this user may write to, or give the folder to this user.'
  if (!isWritable) return fail('data folder', `This user cannot write to ${folder}.`, advice)
  return ok('data folder', exists ? `${folder}.` : `${folder} does not exist yet: the first start makes it.`)
}

function checkSpace({ folder, freeBytes, databaseBytes }: DiskFacts): Check {
  const found = `${printBytes(freeBytes)} are free in ${folder}${databaseBytes === null ? '' : `, and the database there has ${printBytes(databaseBytes)}`}.`
  const advice = 'Free space on this disk, or move the folder to a larger one.'
  if (freeBytes < leastBytes) return fail('disk', found, advice)
  // A migration that rewrites a table needs its size once more.
  return freeBytes < Math.max(roomBytes, databaseBytes ?? 0) ? warn('disk', found, advice) : ok('disk', found)
}

function checkReadable(file: string): Check {
  return fail('data folder', `Others than its owner may open ${file}, which is secret.`, `Run "chmod 600 ${file}".`)
}

export function printBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  return `${Math.round((bytes / 1_000 ** power) * 10) / 10} ${units[power]}`
}
