import type { EventActor, ActorKind as Kind } from '../../domain/events/actor.ts'
import { ApiKey, apiKeyById } from '../accounts/api-keys.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { selectionOf } from '../selection.ts'

const ActorKind = enumOf<Kind>('ActorKind', 'Kind of an actor: who made a change. New values may be added.', {
  api_key: 'An API key of the account.',
  operator: 'The operator of this Berth, with a command.',
  system: 'Berth itself: its market, its policies, its billing, or what it saw on a machine.',
})

/** Who made a change. `kind` tells the implementations apart, and more of them may follow. */
export const Actor = builder.interfaceRef<EventActor>('Actor').implement({
  description: 'Who made a change. New implementations may be added.',
  resolveType: ({ kind }) => typeNames[kind],
  fields: t => ({
    kind: t.expose('kind', { type: ActorKind, description: 'Kind of the actor, such as `API_KEY`.' }),
  }),
})

builder.objectRef<EventActor & { kind: 'api_key' }>('ApiKeyActor').implement({
  description: 'An API key of the account that made a change.',
  interfaces: [Actor],
  fields: t => ({
    apiKeyId: t.id({
      description: 'ID of the API key that made the change, such as `key_42`.',
      resolve: ({ apiKeyId }) => printId('ApiKey', apiKeyId),
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description: 'The API key that made the change. Null if it has expired or was deleted since.',
      requires: 'apiKeys.list',
      resolve: ({ apiKeyId }, _args, context, info) => apiKeyById(context, selectionOf(context, info)).load(apiKeyId),
    }),
  }),
})

builder.objectRef<EventActor & { kind: 'operator' }>('OperatorActor').implement({
  description: 'The operator of this Berth, who made a change with a command.',
  interfaces: [Actor],
})

builder.objectRef<EventActor & { kind: 'system' }>('SystemActor').implement({
  description: 'Berth itself, which made a change without a request.',
  interfaces: [Actor],
})

const typeNames = { api_key: 'ApiKeyActor', operator: 'OperatorActor', system: 'SystemActor' } as const
