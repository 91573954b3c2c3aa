import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { pageSelectionOf } from '../selection.ts'
import { Volume } from './volumes.ts'

builder.queryField('volumes', t =>
  t.connection(
    {
      type: Volume,
      description: 'Lists the volumes of your account, newest first.',
      requires: 'volumes.list',
      complexity: pageComplexity,
      resolve: async (_root, page, context, info) =>
        connectionOf(await context.services.volumes.page(context.actor, page, pageSelectionOf(context, info))),
    },
    {
      name: 'VolumeConnection',
      description: 'A page of volumes.',
      fields: t => ({
        totalCount: t.int({
          description: 'Number of volumes on all pages. Counted only when this field is requested.',
          resolve: (_page, _args, { services, actor }) => services.volumes.count(actor),
        }),
      }),
    },
    { name: 'VolumeEdge', description: 'A volume with its cursor.' },
  ),
)
