import { builder } from '../builder.ts'
import { selectionOf } from '../selection.ts'
import { Account } from './accounts.ts'
import { ApiKey } from './api-keys.ts'

const Viewer = builder.objectRef<object>('Viewer').implement({
  description: 'The caller: the API key that sent the request, and its account.',
  fields: t => ({
    account: t.field({
      type: Account,
      nullable: true,
      description: 'The account of the API key.',
      requires: 'accounts.viewer',
      resolve: (_viewer, _args, context, info) =>
        context.services.accounts.viewer(context.actor, selectionOf(context, info)),
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description:
        'The API key that sent the request. Needs no permission. Null when an instance sent the request with its own key, which is not an API key of the account.',
      resolve: (_viewer, _args, context, info) =>
        context.services.apiKeys.current(context.actor, selectionOf(context, info)),
    }),
  }),
})

builder.queryField('viewer', t =>
  t.field({ type: Viewer, description: 'The caller of this request.', resolve: () => ({}) }),
)
