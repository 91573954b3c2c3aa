import { expect, it } from 'vitest'
import { parsePermissions } from '../../../src/domain/accounts/permissions/parse.ts'
import { type Operation, operationCategories } from '../../../src/domain/accounts/permissions/permissions.ts'
import {
  canReadEvent,
  type Event,
  type EventFilter,
  type EventKind,
  eventReadOperations,
  matchesEventFilter,
} from '../../../src/domain/events/events.ts'

/** The operation that reads the subject of an event. */
const readers: [RegExp, Operation][] = [
  [/^INSTANCE_/, 'instances.get'],
  [/^TEMPLATE_/, 'templates.get'],
  [/^SSH_KEY_/, 'sshKeys.list'],
  [/^SECRET_VARIABLE_/, 'secretVariables.list'],
  [/^API_KEY_/, 'apiKeys.list'],
  [/^VOLUME_/, 'volumes.get'],
  [/^WEBHOOK_/, 'webhooks.list'],
  [/SPEND_LIMIT/, 'billing.spendLimits'],
  [/^(CREDIT_|ACCOUNT_(?!SPEND_LIMIT))/, 'accounts.viewer'],
]

const event = (kind: EventKind): Event => ({
  ...{ id: 7n, xid: 9n, kind, accountId: 3, instanceId: null, before: null, after: null, reason: null, note: null },
  ...{ actorKind: 'system', apiKeyId: null, subjectType: 'Account', subjectId: 3n },
  createdAt: new Date('2026-11-21T12:00:00.000Z'),
})
const actorWith = (operation: Operation) => ({
  accountId: 3,
  ...parsePermissions({ api: { [operationCategories[operation]]: { [operation]: {} } } }),
})

it.each(Object.keys(eventReadOperations) as EventKind[])(
  '%s events are readable only with the operation that reads their subject',
  kind => {
    const expected = readers.filter(([kinds]) => kinds.test(kind)).map(([, operation]) => operation)
    expect(expected).toHaveLength(1)
    const all = Object.keys(operationCategories) as Operation[]
    expect(all.filter(operation => canReadEvent(actorWith(operation), event(kind)))).toEqual(expected)
  },
)

it.each<[string, EventFilter, boolean]>([
  ['nothing', {}, true],
  ['its subject', { subjects: [{ type: 'Account', id: 3n }] }, true],
  [
    'its subject and another',
    {
      subjects: [
        { type: 'Account', id: 4n },
        { type: 'Account', id: 3n },
      ],
    },
    true,
  ],
  ['a subject of its type', { subjects: [{ type: 'Account', id: 4n }] }, false],
  ['a subject of its id', { subjects: [{ type: 'Instance', id: 3n }] }, false],
  ['no subject', { subjects: [] }, false],
  ['its kind', { kinds: ['CREDIT_GRANTED'] }, true],
  ['another kind', { kinds: ['ACCOUNT_DEBT'] }, false],
  ['its subject and another kind', { kinds: ['ACCOUNT_DEBT'], subjects: [{ type: 'Account', id: 3n }] }, false],
])('a filter by %s is matched or not', (_, filter, expected) => {
  expect(matchesEventFilter(event('CREDIT_GRANTED'), filter)).toBe(expected)
})
