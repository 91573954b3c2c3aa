import { sizeOf } from '../../domain/pages.ts'
import { builder } from '../builder.ts'
import { needs } from '../permission.ts'
import { Volume } from './volumes.ts'

builder.queryField('volumes', t =>
  t.connection(
    {
      type: Volume,
      description: `The account's volumes, the newest first. ${needs('volumes.list')}`,
      complexity: ({ first, last }) => ({ field: 1, multiplier: sizeOf({ first, last }) }),
      resolve: async (_root, page, { services, actor }) => {
        const { edges, hasNextPage, hasPreviousPage } = await services.volumes.page(actor, page)
        const [startCursor, endCursor] = [edges[0]?.cursor ?? null, edges.at(-1)?.cursor ?? null]
        return { edges, pageInfo: { hasNextPage, hasPreviousPage, startCursor, endCursor } }
      },
    },
    {
      name: 'VolumeConnection',
      description: 'A page of volumes.',
      fields: t => ({
        totalCount: t.int({
          description: 'How many there are, on all pages. It is counted only when asked for.',
          resolve: (_page, _args, { services, actor }) => services.volumes.count(actor),
        }),
      }),
    },
    { name: 'VolumeEdge', description: 'A volume, and where it stands in this order.' },
  ),
)
