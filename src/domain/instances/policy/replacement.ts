// An instance that does not run in time can be replaced: it is destroyed, and the next best offer of its search is rented.

import type { Issue } from '../../errors.ts'
import type { LaunchInput, LaunchSources } from '../../launch/launch.ts'

/** `within` is a text such as "10m". `attempts` counts the rentals of the request, with the first. */
export type ReplaceInput = { within: string; attempts: number }

/** How a new instance may be replaced, and which one it replaces. */
export type Replacement = {
  withinSeconds: number
  /** How many more rentals may follow. */
  attemptsLeft: number
  /** The search, for `readSearch`. */
  search: object
  replaced?: ReplacedInstance | undefined
}

export type ReplacedInstance = {
  id: bigint
  templateId: number | null
  templateHash: string | null
  sources: LaunchSources
}

const unitSeconds = { s: 1, m: 60, h: 3_600 }
const [minWithinSeconds, maxWithinSeconds] = [60, 3_600]
export const [minReplaceAttempts, maxReplaceAttempts] = [2, 5] as const

/** The seconds of a text such as "90s", "10m" or "1h"; undefined if it is none. */
function parseWithin(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,4})([smh])$/.exec(text) ?? []
  return count && unit ? Number(count) * unitSeconds[unit as keyof typeof unitSeconds] : undefined
}

export function printWithin(seconds: number): string {
  if (seconds % unitSeconds.h === 0) return `${seconds / unitSeconds.h}h`
  return seconds % unitSeconds.m === 0 ? `${seconds / unitSeconds.m}m` : `${seconds}s`
}

/** All problems of a request to replace the instance of this launch. */
export function replaceIssues({ within, attempts }: ReplaceInput, launch: LaunchInput): Issue[] {
  const seconds = parseWithin(within)
  const volumes = (launch.environment?.volumes.length ?? 0) + (launch.newVolumes?.length ?? 0)
  const problems = {
    'replace.within':
      seconds === undefined || seconds < minWithinSeconds || seconds > maxWithinSeconds
        ? 'must be a time from "1m" to "1h", such as "90s" or "10m".'
        : undefined,
    'replace.attempts':
      attempts < minReplaceAttempts || attempts > maxReplaceAttempts
        ? `must be from ${minReplaceAttempts} to ${maxReplaceAttempts}, not ${attempts}.`
        : undefined,
    replace:
      volumes > 0
        ? 'cannot be given with volumes: a volume stays on its machine, and a replacement is on another.'
        : launch.targetState === 'stopped'
          ? 'cannot be given for an instance that is rented as stopped.'
          : undefined,
  }
  return Object.entries(problems).flatMap(([path, message]) => (message ? [{ path, message }] : []))
}

/** The first replacement of a request without issues. `search` may have BigInts. */
export function replacementFrom({ within, attempts }: ReplaceInput, search: object): Replacement {
  const withinSeconds = parseWithin(within) ?? maxWithinSeconds
  return { withinSeconds, attemptsLeft: attempts - 1, search: storeSearch(search) }
}

/** The search in a form that JSON keeps. */
function storeSearch(search: object): object {
  const text = JSON.stringify(search, (_name, value: unknown) =>
    typeof value === 'bigint' ? { bigint: String(value) } : value,
  )
  return JSON.parse(text)
}

/** `Search` is the type that was given to `replacementFrom`: nothing else is stored. */
export function readSearch<Search>(stored: object): Search {
  return JSON.parse(JSON.stringify(stored), (_name, value: unknown) =>
    typeof value === 'object' && value !== null && 'bigint' in value ? BigInt(String(value.bigint)) : value,
  )
}

/** Why the last instance of a request was destroyed. */
export function notReplacedMessage(withinSeconds: number, why: string): string {
  return `The instance did not run within ${printWithin(withinSeconds)}, and no other was rented in its place: ${why}`
}

export const noAttemptLeft = 'the attempts are used up.'
export const keyEnded = 'the API key that rented it is no longer valid.'
