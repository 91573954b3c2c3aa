// What an event is about. Every event has a subject, which is stored with it so that readers can filter by it.

import type { IdType } from '../ids.ts'

export const subjectTypes = [
  'Account',
  'ApiKey',
  'Instance',
  'SpendLimit',
  'SshKey',
  'Template',
  'Volume',
  'Webhook',
] as const satisfies IdType[]
export type SubjectType = (typeof subjectTypes)[number]
export type EventSubject = { type: SubjectType; id: bigint }
/** The columns that an event stores of its subject. */
export type StoredSubject = { subjectType: SubjectType; subjectId: bigint }

export function subjectOf({ subjectType, subjectId }: StoredSubject): EventSubject {
  return { type: subjectType, id: subjectId }
}

type SubjectFacts = {
  kind: string
  accountId: number
  instanceId?: bigint | undefined
  before?: Record<string, unknown> | undefined
  after?: Record<string, unknown> | undefined
}

/** The start of an event's kind, the type of its subject, and the fact with the subject's id. The first match counts. */
const subjectRules: [string, SubjectType, string][] = [
  ['TEMPLATE_', 'Template', 'templateId'],
  ['VOLUME_', 'Volume', 'volumeId'],
  ['SSH_KEY_', 'SshKey', 'sshKeyId'],
  ['API_KEY_', 'ApiKey', 'apiKeyId'],
  ['WEBHOOK_', 'Webhook', 'webhookId'],
  ['SPEND_LIMIT_', 'SpendLimit', 'spendLimitId'],
  ['ACCOUNT_SPEND_LIMIT', 'SpendLimit', 'spendLimitId'],
]

/** The subject of a new event. Without a more precise one, it is the account, as with credit and secret variables. */
export function newSubjectOf({ kind, accountId, instanceId, before, after }: SubjectFacts): EventSubject {
  if (instanceId !== undefined) return { type: 'Instance', id: instanceId }
  const [, type, fact] = subjectRules.find(([start]) => kind.startsWith(start)) ?? []
  const id = fact && { ...before, ...after }[fact]
  return type && id !== undefined ? { type, id: BigInt(String(id)) } : { type: 'Account', id: BigInt(accountId) }
}
