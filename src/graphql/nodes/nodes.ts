import { brandWithType } from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'
import { invalidInput } from '../../domain/errors.ts'
import { maxPageSize } from '../../domain/pages.ts'
import { Account, accountById } from '../accounts/accounts.ts'
import { ApiKey, apiKeyById } from '../accounts/api-keys.ts'
import { SshKey, sshKeyById } from '../accounts/ssh-keys.ts'
import { LedgerEntry, ledgerEntryById } from '../billing/ledger.ts'
import { SpendLimit, spendLimitById } from '../billing/limits.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { Event, eventById } from '../events/events.ts'
import { type NodeType, parseId, parseIdType } from '../ids.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { GpuModel, gpuModelById } from '../machines/gpu-models.ts'
import { Host, hostById } from '../machines/hosts.ts'
import { Machine, machineById } from '../machines/machines.ts'
import { Offer, offerById } from '../offers/offers.ts'
import { selectionOf } from '../selection.ts'
import { Template, templateById } from '../templates/templates.ts'
import { VolumeOffer, volumeOfferById } from '../volumes/offers.ts'
import { Volume, volumeById } from '../volumes/volumes.ts'
import { Webhook, webhookById } from '../webhooks/webhooks.ts'
import { Node } from './node.ts'

type FindNode<Id> = (context: Context, id: Id, info: GraphQLResolveInfo) => Promise<object | null>

const nodeFinders: Record<NodeType, FindNode<bigint>> = {
  Account: withSmallIds((context, id, info) => {
    return accountById(context, selectionOf(context, info, { typeName: 'Account' })).load(id)
  }),
  ApiKey: withSmallIds((context, id, info) => {
    return apiKeyById(context, selectionOf(context, info, { typeName: 'ApiKey' })).load(id)
  }),
  Event: (context, id, info) => eventById(context, selectionOf(context, info, { typeName: 'Event' })).load(id),
  GpuModel: withSmallIds((context, id, info) => {
    return gpuModelById(context, selectionOf(context, info, { typeName: 'GpuModel' })).load(id)
  }),
  Host: withSmallIds((context, id) => hostById(context).load(id)),
  Instance: (context, id, info) => instanceById(context, selectionOf(context, info, { typeName: 'Instance' })).load(id),
  LedgerEntry: (context, id, info) => {
    return ledgerEntryById(context, selectionOf(context, info, { typeName: 'LedgerEntry' })).load(id)
  },
  Machine: withSmallIds((context, id, info) => {
    return machineById(context, selectionOf(context, info, { typeName: 'Machine' })).load(id)
  }),
  Offer: (context, id, info) => offerById(context, selectionOf(context, info, { typeName: 'Offer' })).load(id),
  Volume: (context, id, info) => volumeById(context, selectionOf(context, info, { typeName: 'Volume' })).load(id),
  VolumeOffer: withSmallIds((context, id, info) => {
    return volumeOfferById(context, selectionOf(context, info, { typeName: 'VolumeOffer' })).load(id)
  }),
  SpendLimit: withSmallIds((context, id, info) => {
    return spendLimitById(context, selectionOf(context, info, { typeName: 'SpendLimit' })).load(id)
  }),
  SshKey: withSmallIds((context, id, info) => {
    return sshKeyById(context, selectionOf(context, info, { typeName: 'SshKey' })).load(id)
  }),
  Template: withSmallIds((context, id, info) => {
    return templateById(context, selectionOf(context, info, { typeName: 'Template' })).load(id)
  }),
  Webhook: withSmallIds((context, id, info) => {
    return webhookById(context, selectionOf(context, info, { typeName: 'Webhook' })).load(id)
  }),
}

/** For ids in four-byte columns: the database refuses to compare them with larger integers. */
function withSmallIds(find: FindNode<number>): FindNode<bigint> {
  return async (context, id, info) => (id < 2n ** 31n ? await find(context, Number(id), info) : null)
}
const nodeTypes = {
  Account,
  ApiKey,
  Event,
  GpuModel,
  Host,
  Instance,
  LedgerEntry,
  Machine,
  Offer,
  SpendLimit,
  SshKey,
  Template,
  Volume,
  VolumeOffer,
  Webhook,
}

/** The item of a type with an id, through the loaders of the request. Null if it is gone. */
export async function loadNode(
  { type, id }: { type: NodeType; id: bigint },
  context: Context,
  info: GraphQLResolveInfo,
): Promise<object | null> {
  const node = await nodeFinders[type](context, id, info)
  if (node) brandWithType(node, nodeTypes[type])
  return node
}

async function findNode(id: string, path: string, context: Context, info: GraphQLResolveInfo): Promise<object | null> {
  const type = parseIdType(id, path)
  return await loadNode({ type, id: parseId(type, id, path) }, context, info)
}

builder.queryFields(t => ({
  node: t.field({
    type: Node,
    nullable: true,
    description: 'The item with this ID. Null if it does not exist or this API key may not see it.',
    args: { id: t.arg.id({ required: true, description: 'ID of any type, such as `ins_42`.' }) },
    resolve: (_root, { id }, context, info) => findNode(id, 'id', context, info),
  }),
  nodes: t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description:
      'The items with these IDs, in the order of the IDs. Null for each ID that does not exist or that this API key may not see.',
    args: { ids: t.arg.idList({ required: true, description: `IDs of the items, at most ${maxPageSize}.` }) },
    complexity: ({ ids }) => ({ field: 1, multiplier: ids.length }),
    resolve: (_root, { ids }, context, info) => {
      if (ids.length > maxPageSize) {
        throw invalidInput([{ path: 'ids', message: `takes at most ${maxPageSize} ids, not ${ids.length}.` }])
      }
      return ids.map((id, index) => findNode(id, `ids.${index}`, context, info))
    },
  }),
}))
