import { bidRange } from '../../domain/instances/bid.ts'
import { printUsd } from '../../domain/money.ts'
import { builder } from '../builder.ts'
import { parseId } from '../ids.ts'
import { instanceResult } from './result.ts'

const UpdateInstanceBidInput = builder.inputType('UpdateInstanceBidInput', {
  description: 'An interruptible instance and its new bid.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }),
    bidPerHour: t.field({
      type: 'Usd',
      required: true,
      description: `New bid per hour for all GPUs of the instance, in US dollars, ${printUsd(bidRange.min)} to ${printUsd(bidRange.max)}. Among equal bids per GPU the oldest wins; a changed bid counts as new.`,
    }),
  }),
})

const { union, answer } = instanceResult(
  'updateInstanceBid',
  'The instance with its new bid, or the error that kept the old bid.',
  'The instance has the bid.',
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

builder.mutationField('updateInstanceBid', t =>
  t.field({
    type: union,
    description: 'Raises or lowers the bid of an interruptible instance, which may win or lose its GPUs at once.',
    requires: 'instances.changeBid',
    complexity: { field: 20 },
    args: {
      input: t.arg({ type: UpdateInstanceBidInput, required: true, description: 'The instance and its new bid.' }),
    },
    resolve: (_root, { input }, { services, actor }) =>
      answer({ bid: 'bidPerHour' }, async () => {
        const id = parseId('Instance', input.id)
        const instance = await services.instances.updateBid(actor, id, input.bidPerHour)
        return { instance }
      }),
  }),
)
