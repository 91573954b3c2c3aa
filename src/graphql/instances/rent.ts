import type { GraphQLResolveInfo } from 'graphql'
import { bidRange } from '../../domain/instances/bid.ts'
import type { RentalTerms, RentInput } from '../../domain/instances/rent/decide.ts'
import { printUsd } from '../../domain/money.ts'
import type { Rental } from '../../services/instances/rent/rent.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { idempotencyKey, replayed } from '../mutations.ts'
import { selectionOf } from '../selection.ts'
import { Instance } from './instances.ts'
import { InstanceSpecInput, parseSpecInput, specIssuePaths } from './spec.ts'

const OnDemandTermsInput = builder.inputType('OnDemandTermsInput', {
  description: "On-demand terms: the host's price. The GPUs cannot be taken away.",
  fields: t => ({
    maxPricePerHour: t.field({
      type: 'Usd',
      description:
        'Refuse the rental if GPUs, disk and new volumes together cost more than this per hour. If absent or null, any price is accepted.',
    }),
  }),
})

export const InterruptibleTermsInput = builder.inputType('InterruptibleTermsInput', {
  description:
    'Interruptible terms: a bid. A higher bid or an on-demand rental stops the instance until its bid wins the GPUs again.',
  fields: t => ({
    bidPerHour: t.field({
      type: 'Usd',
      required: true,
      description: `Bid per hour for all GPUs of the offer, in US dollars, ${printUsd(bidRange.min)} to ${printUsd(bidRange.max)}.`,
    }),
  }),
})

const RentalTermsInput = builder.inputType('RentalTermsInput', {
  description: 'Rental terms: on demand or interruptible.',
  isOneOf: true,
  fields: t => ({
    onDemand: t.field({ type: OnDemandTermsInput, description: "Rent on demand at the host's price." }),
    interruptible: t.field({ type: InterruptibleTermsInput, description: 'Rent as interruptible at a bid.' }),
  }),
})

export const RentInstanceInput = builder.inputType('RentInstanceInput', {
  description: 'The offer to rent, the rental terms, and the instance to create.',
  fields: t => ({
    offerId: t.id({ required: true, description: 'ID of the offer to rent, such as `off_42` or `42`.' }),
    terms: t.field({
      type: RentalTermsInput,
      required: true,
      defaultValue: { onDemand: {} },
      description: 'Rental terms. Defaults to on demand at any price.',
    }),
    spec: t.field({ type: InstanceSpecInput, required: true, description: 'The instance to create.' }),
    failIfUnavailable: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Refuse the rental if the instance would have to wait for its GPUs. By default it waits.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const { union, answer } = mutationResult<Rental>('rentInstance', {
  description: 'The new instance, or the error that prevented the rental.',
  success: {
    description: 'The offer was rented, and its instance exists.',
    fields: t => ({
      instance: t.expose('instance', {
        type: Instance,
        description: 'The new instance. A replayed answer shows it as it is now.',
      }),
      instanceApiKey: t.exposeString('apiKey', {
        description:
          'API key that can only start, stop and destroy this instance. The instance also has it in its environment.',
      }),
      warnings: t.exposeStringList('warnings', {
        description: 'Accepted settings that may not behave as you expect.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  },
  errors: [
    'INVALID_INPUT',
    'OFFER_UNAVAILABLE',
    'BID_TOO_LOW',
    'PRICE_CHANGED',
    'INSUFFICIENT_CREDIT',
    'SPEND_LIMIT_EXCEEDED',
    'QUOTA_EXCEEDED',
    'START_BACKOFF',
    'SSH_KEY_REQUIRED',
    'VOLUME_UNAVAILABLE',
    'NOT_FOUND',
    'IDEMPOTENCY_KEY_REUSED',
    'IDEMPOTENCY_IN_PROGRESS',
  ],
})

/** Input paths of the fields that have another name in the domain. */
export const rentIssuePaths = { ...specIssuePaths, bid: 'terms.interruptible.bidPerHour' }

builder.mutationField('rentInstance', t =>
  t.field({
    type: union,
    description: 'Rents an offer. An offer ID can be rented only once, so a repeated request never rents twice.',
    requires: 'instances.rent',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: RentInstanceInput,
        required: true,
        description: 'The offer to rent, the rental terms, and the instance to create.',
      }),
    },
    resolve: (_root, { input }, context, info) =>
      answer(rentIssuePaths, () => {
        const select = rentedSelectionOf(context, info, 'RentInstanceSuccess')
        const idempotencyKey = input.idempotencyKey ?? undefined
        return context.services.instances.rent(context.actor, parseRentInput(input), select, { idempotencyKey })
      }),
  }),
)

/** What the client asks of the instance that was rented. */
export function rentedSelectionOf(context: Context, info: GraphQLResolveInfo, success: string): { id: true } {
  return selectionOf(context, info, { of: [{ type: success, name: 'instance' }] })
}

export function parseRentInput({
  offerId,
  terms,
  spec,
  failIfUnavailable,
}: typeof RentInstanceInput.$inferInput): RentInput {
  return {
    offerId: parseId('Offer', offerId, 'offerId'),
    terms: parseTermsInput(terms),
    ...parseSpecInput(spec),
    failIfUnavailable,
  }
}

function parseTermsInput({ onDemand, interruptible }: typeof RentalTermsInput.$inferInput): RentalTerms {
  if (interruptible) return { interruptible: true, bidNanos: interruptible.bidPerHour }
  return { interruptible: false, maxPriceNanos: onDemand?.maxPricePerHour ?? undefined }
}
