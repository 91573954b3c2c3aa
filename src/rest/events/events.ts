import { z } from 'zod'
import type { Event } from '../../domain/events/events.ts'
import { messageOf } from '../../domain/events/message.ts'
import { maxPageSize } from '../../domain/pages.ts'
import { type Route, route } from '../route.ts'
import { alwaysNull, number, text } from '../values.ts'

const auditRow = z
  .object({
    ip_address: alwaysNull('Always null: addresses are not kept.'),
    api_key_id: z.int().nullable().describe('The key that did it; null when Berth itself did, or the operator.'),
    created_at: number('When, in seconds since 1970.'),
    api_route: alwaysNull('Always null: what changed is kept, and not by which request.'),
    args: z
      .object({
        event: text('What changed: the type of the event.'),
        instance_id: z.int().nullable().describe('The instance that it is about.'),
        message: text('The same in a sentence.'),
        reason: z.string().nullable().describe('Why, as a code.'),
      })
      .describe('What changed.'),
  })
  .meta({ id: 'AuditLog', description: 'Something that changed, and who changed it.' })
type AuditRow = z.input<typeof auditRow>

export const eventRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/audit_logs/',
    operationId: 'listAuditLogs',
    tag: 'Account',
    summary: 'List what changed',
    about: `The ${maxPageSize} newest events of the account that the key may read, the newest first. All of them, with what they changed, are read in pages over GraphQL.`,
    operation: 'events.list',
    result: z.array(auditRow),
    answer: async ({ services, actor }) => {
      const { edges } = await services.events.page(actor, {}, { last: maxPageSize })
      return edges.map(({ node }) => auditRowOf(node)).toReversed()
    },
  }),
]

function auditRowOf(event: Event): AuditRow {
  const { apiKeyId, at, type, instanceId, reason } = event
  const about = instanceId === null ? null : Number(instanceId)
  return {
    ip_address: null,
    api_key_id: apiKeyId,
    created_at: at.getTime() / 1000,
    api_route: null,
    args: { event: type, instance_id: about, message: messageOf(event), reason },
  }
}
