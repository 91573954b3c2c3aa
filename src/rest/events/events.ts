import { z } from 'zod'
import type { Event } from '../../domain/events/events.ts'
import { messageOf } from '../../domain/events/message.ts'
import { maxPageSize } from '../../domain/pages.ts'
import type { Selected } from '../../services/selected.ts'
import { type Route, route } from '../route.ts'
import { alwaysNull, number, text } from '../values.ts'

const auditRow = z
  .object({
    ip_address: alwaysNull('Always null: Berth does not store IP addresses.'),
    api_key_id: z
      .int()
      .nullable()
      .describe('ID of the API key that made the change; null if Berth or its operator made it.'),
    created_at: number('Time of the change, in seconds since 1970.'),
    api_route: alwaysNull('Always null: Berth does not store which request made the change.'),
    args: z
      .object({
        event: text('Type of the event.'),
        instance_id: z
          .int()
          .nullable()
          .describe('ID of the instance that changed; null if the event is about something else.'),
        message: text('The event as a sentence.'),
        reason: z.string().nullable().describe('Machine-readable reason of the event; null without one.'),
      })
      .describe('The change.'),
  })
  .meta({ id: 'AuditLog', description: 'A change, and the API key that made it.' })
type AuditRow = z.input<typeof auditRow>

export const eventRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/audit_logs/',
    operationId: 'listAuditLogs',
    tag: 'Account',
    summary: 'List recent changes',
    about: `Lists the ${maxPageSize} newest events of the account that the key may read, newest first. GraphQL has all events in pages, with their details.`,
    operation: 'events.list',
    mayBeStale: true,
    result: z.array(auditRow),
    answer: async ({ services, actor }) => {
      const { edges } = await services.events.page(actor, {}, { last: maxPageSize }, auditColumns)
      return edges.map(({ node }) => auditRowOf(node)).toReversed()
    },
  }),
]

const auditColumns = {
  id: true,
  kind: true,
  instanceId: true,
  apiKeyId: true,
  before: true,
  after: true,
  reason: true,
  note: true,
  createdAt: true,
} as const

function auditRowOf(event: Selected<Event, typeof auditColumns>): AuditRow {
  const { apiKeyId, createdAt, kind, instanceId, reason, note } = event
  const about = instanceId === null ? null : Number(instanceId)
  return {
    ip_address: null,
    api_key_id: apiKeyId,
    created_at: createdAt.getTime() / 1000,
    api_route: null,
    args: { event: kind, instance_id: about, message: messageOf(event), reason: reason ?? note },
  }
}
