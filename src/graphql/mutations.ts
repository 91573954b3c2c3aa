// What mutations share.

import type { Issue } from '../domain/errors.ts'
import { blankProblem } from '../domain/texts.ts'

/** Field options of `idempotencyKey`, for every input that creates something. */
export const idempotencyKey = {
  description:
    'Your name for this request, at most 255 characters. Repeating the request within 24 hours, with this name and the same API key, changes nothing and answers like the first success, with the item as it is now. A refusal is not stored: the request can be repeated with the same name. If absent or null, each request counts as a new one.',
} as const

/** Field options of `replayed`, for every result of a creation. */
export const replayed = {
  description: 'True if an earlier request with the same idempotency key did the work. The item is shown as it is now.',
} as const

/** Blank names and labels, by their paths. Null or absence means none, so a blank one is probably a mistake. */
export function blankNameIssues(names: Record<string, string | null | undefined>): Issue[] {
  return Object.entries(names).flatMap(([path, name]) => {
    const message = name == null ? undefined : blankProblem(name)
    return message ? [{ path, message }] : []
  })
}

/** Refuses empty texts in changes, since null removes a text. */
export function refuseEmpty(texts: Record<string, string | null | undefined>): Issue[] {
  const names = Object.keys(texts).filter(name => texts[name] === '')
  return names.map(path => ({ path, message: 'must not be empty. Send null to remove it.' }))
}

/** Refuses null in changes, for what can be changed but not removed. */
export function refuseNull(values: Record<string, unknown>): Issue[] {
  const names = Object.keys(values).filter(name => values[name] === null)
  return names.map(path => ({ path, message: 'cannot be removed. Leave it out to keep it.' }))
}
