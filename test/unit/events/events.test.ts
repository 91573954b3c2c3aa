import { expect, it } from 'vitest'
import { parsePermissions } from '../../../src/domain/accounts/permissions/parse.ts'
import { type Operation, operationCategories } from '../../../src/domain/accounts/permissions/permissions.ts'
import { canReadEvent, type Event, type EventKind, eventReadOperations } from '../../../src/domain/events/events.ts'

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
