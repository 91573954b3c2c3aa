// Webhooks of an account, and when their deliveries are retried.

import { forbidden } from '../accounts/permissions/forbidden.ts'
import { missingPermissions } from '../accounts/permissions/missing.ts'
import { operationCategories } from '../accounts/permissions/permissions.ts'
import type { Actor } from '../actor.ts'
import { type Issue, invalidInput, joinIssues } from '../errors.ts'
import { type Event, type EventKind, eventReadOperations, isEventKind } from '../events/events.ts'
import { blankProblem, textProblem } from '../texts.ts'

/** What the owner of a webhook sets. The name tells webhooks with the same URL apart. */
export type WebhookSettings = { name: string | null; url: string; kinds: EventKind[] }

/** The kinds of a stored webhook. A gateway of a newer version may write kinds that this gateway does not know. */
export function kindsOf({ kinds }: { kinds: readonly string[] }): EventKind[] {
  return kinds.filter(isEventKind)
}

/** The delivery of one event to one webhook. */
export type WebhookDelivery = {
  id: bigint
  webhookId: number
  event: Event
  attempts: number
  /** When the next attempt is due; null if the event was delivered or given up. */
  dueAt: Date | null
  attemptedAt: Date | null
  deliveredAt: Date | null
  responseStatus: number | null
  error: string | null
}

export const maxWebhooks = 8
export const maxRecentDeliveries = 50
export const oldSecretHours = 24
export const maxWebhookNameLength = 256
const maxUrlLength = 2_048
const maxHostLength = 253

export function checkRecentCount(first: number): void {
  if (first >= 1 && first <= maxRecentDeliveries) return
  throw invalidInput([{ path: 'first', message: `must be from 1 to ${maxRecentDeliveries}, not ${first}.` }])
}

type DeliveryStatus = 'pending' | 'retrying' | 'delivered' | 'givenUp'

export function deliveryStatusOf({
  attempts,
  deliveredAt,
  dueAt,
}: Pick<WebhookDelivery, 'attempts' | 'deliveredAt' | 'dueAt'>): DeliveryStatus {
  if (deliveredAt) return 'delivered'
  if (!dueAt) return 'givenUp'
  return attempts === 0 ? 'pending' : 'retrying'
}

/** The response status of an attempt, or why there was no response. */
export type AttemptResult = { responseStatus: number } | { error: string }

const [second, minute, hour] = [1_000, 60_000, 3_600_000]
/** Delays between attempts. */
const retryDelaysMs = [10 * second, minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour, 12 * hour, 24 * hour]
export const maxAttempts = retryDelaysMs.length + 1
/** Upper bound on the time from an event to the last attempt. Events are kept at least as long. */
export const maxRetryDays = 3

/** The receiver refuses this event for good. Later events are still sent to it. */
const goneStatus = 410

export function isDelivered(attempt: AttemptResult): boolean {
  return 'responseStatus' in attempt && attempt.responseStatus >= 200 && attempt.responseStatus < 300
}

/** Delay until the next attempt, after this many; null when the delivery succeeded or is given up. */
export function retryDelayMs(deliveryId: bigint, attempts: number, attempt: AttemptResult): number | null {
  const delayMs = retryDelaysMs[attempts - 1]
  if (
    delayMs === undefined ||
    isDelivered(attempt) ||
    ('responseStatus' in attempt && attempt.responseStatus === goneStatus)
  )
    return null
  return Math.round(delayMs * (1 + jitter(deliveryId, attempts)))
}

/** Adds up to a fifth, so that deliveries that failed together are not retried together. Deterministic per attempt. */
function jitter(deliveryId: bigint, attempts: number): number {
  const mixed = BigInt.asUintN(32, (deliveryId * 31n + BigInt(attempts)) * 2_654_435_761n)
  return Number(mixed >> 16n) / 2 ** 16 / 5
}

export type WebhookInput = { url: string; kinds: readonly EventKind[]; name?: string | null | undefined }
/** An absent part stays as it is. `parseIssues` are problems that the face has found. */
export type WebhookChange = { [Part in keyof WebhookInput]?: WebhookInput[Part] | undefined } & {
  parseIssues?: Issue[]
}

/** Normalizes the input, or throws every issue at once. */
export function parseWebhookInput({ url, kinds, name = null }: WebhookInput, allowsHttp: boolean) {
  // All parts are given, so all are returned.
  return parseWebhookChange({ url, kinds, name }, allowsHttp) as WebhookSettings
}

/** Normalizes the given parts and returns only these, or throws every issue at once. */
export function parseWebhookChange(
  { url, kinds, name, parseIssues }: WebhookChange,
  allowsHttp: boolean,
): Partial<WebhookSettings> {
  const parsed = url === undefined ? undefined : parseWebhookUrl(url, allowsHttp)
  const nameProblem = name == null ? undefined : (blankProblem(name) ?? textProblem(name, maxWebhookNameLength))
  const issues = joinIssues(parseIssues, [
    ...(typeof parsed === 'string' ? [{ path: 'url', message: parsed }] : []),
    ...(kinds?.length === 0 ? [{ path: 'kinds', message: 'must have at least one event kind.' }] : []),
    ...(nameProblem ? [{ path: 'name', message: nameProblem }] : []),
  ])
  if (issues.length > 0 || typeof parsed === 'string') throw invalidInput(issues)
  const all = Object.keys(eventReadOperations) as EventKind[]
  return {
    ...(parsed && { url: parsed.href }),
    ...(kinds && { kinds: all.filter(kind => kinds.includes(kind)) }),
    ...(name !== undefined && { name }),
  }
}

/** A webhook gets events of its kinds, and its tests. */
export const testKind = 'WEBHOOK_TESTED' satisfies EventKind

/** The URL, or why it is refused. No message repeats the URL: it may contain a password. */
function parseWebhookUrl(text: string, allowsHttp: boolean): URL | string {
  const problem = textProblem(text, maxUrlLength)
  if (problem) return problem
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return 'must be an absolute URL, such as https://example.com/berth.'
  if (url.protocol === 'http:' && !allowsHttp) return 'must begin with https://.'
  if (url.username || url.password) return 'must not contain a user name or password.'
  if (text.includes('#')) return 'must not contain a fragment.'
  if (url.hostname.length > maxHostLength || url.href.length > maxUrlLength)
    return `is too long: at most ${maxUrlLength} characters, with a host name of at most ${maxHostLength}.`
  return url
}

/** A webhook receives only event kinds that the key configuring it may read. */
export function checkCanReadKinds({ permissions }: Pick<Actor, 'permissions'>, kinds: readonly EventKind[]): void {
  const operations = [...new Set(kinds.map(kind => eventReadOperations[kind]))]
  const missing = operations.flatMap(read =>
    missingPermissions(permissions, { api: { [operationCategories[read]]: { [read]: {} } } }),
  )
  if (missing.length > 0) throw forbidden('events', missing)
}
