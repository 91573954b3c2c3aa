import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { permissionSentence } from '../permission.ts'
import { Volume } from './volumes.ts'

builder.queryField('volumes', t =>
  t.connection(
    {
      type: Volume,
      description: `The account's volumes, the newest first. ${permissionSentence('volumes.list')}`,
      complexity: pageComplexity,
      resolve: async (_root, page, { services, actor }) => connectionOf(await services.volumes.page(actor, page)),
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
