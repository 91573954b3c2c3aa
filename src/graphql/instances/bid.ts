import { bidRange } from '../../domain/instances/bid.ts'
import { printUsd } from '../../domain/money.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { InstanceSuccess } from './update.ts'

const ChangeBidInput = builder.inputType('ChangeBidInput', {
  description: 'Which instance, and what it bids from now on.',
  fields: t => ({
    instanceId: t.id({ required: true, description: 'Such as `ins_42`, or `42`.' }),
    bidPerHour: t.field({
      type: 'Usd',
      required: true,
      description: `For all of its GPUs, from ${printUsd(bidRange.min)} to ${printUsd(bidRange.max)}. Among equal bids per GPU the older one wins, and a changed bid is new.`,
    }),
  }),
})

const { union: ChangeBidResult, answer } = resultUnion(
  'ChangeBidResult',
  'The instance, or why its bid stays.',
  InstanceSuccess,
  [
    'INVALID_INPUT',
    'NOT_FOUND',
    'INVALID_STATE',
    'BID_TOO_LOW',
    'INSUFFICIENT_CREDIT',
    'SPEND_LIMIT_EXCEEDED',
    'QUOTA_EXCEEDED',
    'START_BACKOFF',
  ],
)

builder.mutationField('changeBid', t =>
  t.field({
    type: ChangeBidResult,
    description: `Bids more or less for the GPUs of an instance: it may win or lose them at once. ${permissionSentence('instances.changeBid')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: ChangeBidInput, required: true, description: 'Which, and how much.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      answer({ bid: 'bidPerHour' }, async () => {
        const id = parseId('Instance', input.instanceId, 'instanceId')
        const instance = await services.instances.changeBid(actor, id, input.bidPerHour)
        return { instance }
      }),
  }),
)
