import type { LimitStatus } from '../../http/limits/meter.ts'
import { builder } from '../builder.ts'

const RateLimit = builder.objectRef<LimitStatus>('RateLimit').implement({
  description:
    'The points of the API key, or those of all keys of its account if fewer are left. Points come back at a constant rate. Each gateway counts for itself.',
  fields: t => ({
    cost: t.exposeInt('cost', {
      description:
        'Points that this operation has taken: some for the request, one for each field, and more for changes and for a document that the gateway does not remember.',
    }),
    limit: t.exposeFloat('limit', { description: 'Points when none are taken.' }),
    remaining: t.exposeFloat('remaining', { description: 'Points that are left.' }),
    pointsPerSecond: t.exposeFloat('pointsPerSecond', { description: 'Points that come back per second.' }),
    fullAt: t.field({
      type: 'DateTime',
      description: 'When all points are there again, if nothing takes any.',
      resolve: ({ fullAt }) => fullAt,
    }),
  }),
})

builder.queryField('rateLimit', t =>
  t.field({
    type: RateLimit,
    nullable: true,
    description: 'What the caller may ask for. Needs no permission. Null if the gateway limits no requests.',
    resolve: (_root, _args, { meter }) => meter.status(),
  }),
)
