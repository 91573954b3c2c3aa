import { builder } from '../builder.ts'
import { Account } from './accounts.ts'
import { ApiKey } from './api-keys.ts'

const Viewer = builder.objectRef<object>('Viewer').implement({
  description: 'The caller: the API key that sent the request, and its account.',
  fields: t => ({
    account: t.prismaField({
      type: Account,
      nullable: true,
      description: 'The account of the API key.',
      requires: 'accounts.viewer',
      resolve: (query, _viewer, _args, { services, actor }) => services.accounts.viewer(actor, query),
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description:
        'The API key that sent the request. Needs no permission. Null when an instance sent the request with its own key, which is not an API key of the account.',
      resolve: (_viewer, _args, { services, actor }) => services.apiKeys.current(actor),
    }),
  }),
})

builder.queryField('viewer', t =>
  t.field({ type: Viewer, description: 'The caller of this request.', resolve: () => ({}) }),
)
