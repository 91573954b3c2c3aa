import { bidRange } from '../../domain/instances/bid.ts'
import type { RentalTerms, RentInput } from '../../domain/instances/rent/decide.ts'
import { printUsd } from '../../domain/money.ts'
import type { Rental } from '../../services/instances/rent/rent.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'
import { InstanceSpecInput, parseSpecInput, specIssuePaths } from './spec.ts'

const OnDemandTermsInput = builder.inputType('OnDemandTermsInput', {
  description: "At the host's price.",
  fields: t => ({
    maxPricePerHour: t.field({
      type: 'Usd',
      description:
        'Refuse when GPUs, disk and new volumes cost more than this per hour. Any price is taken when absent.',
    }),
  }),
})

export const InterruptibleTermsInput = builder.inputType('InterruptibleTermsInput', {
  description: 'At a bid. A higher one, or a rental on demand, stops the instance until it is the highest again.',
  fields: t => ({
    bidPerHour: t.field({
      type: 'Usd',
      required: true,
      description: `For all GPUs of the offer, from ${printUsd(bidRange.min)} to ${printUsd(bidRange.max)}.`,
    }),
  }),
})

const RentalTermsInput = builder.inputType('RentalTermsInput', {
  description: 'How the price is made.',
  isOneOf: true,
  fields: t => ({
    onDemand: t.field({ type: OnDemandTermsInput, description: "At the host's price." }),
    interruptible: t.field({ type: InterruptibleTermsInput, description: 'At a bid.' }),
  }),
})

export const RentInstanceInput = builder.inputType('RentInstanceInput', {
  description: 'What is rented, for how much, and what runs on it.',
  fields: t => ({
    offerId: t.id({ required: true, description: 'The offer, such as `off_42`, or `42`.' }),
    terms: t.field({
      type: RentalTermsInput,
      required: true,
      defaultValue: { onDemand: {} },
      description: 'How the price is made. On demand when absent.',
    }),
    spec: t.field({ type: InstanceSpecInput, required: true, description: 'What runs.' }),
    cancelUnavailable: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Refuse what would have to wait for its GPUs, instead of letting it wait.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const RentInstanceSuccess = builder.objectRef<Rental>('RentInstanceSuccess').implement({
  description: 'The offer was rented.',
  fields: t => ({
    instance: t.expose('instance', { type: Instance, description: 'What was made of it.' }),
    instanceApiKey: t.exposeString('apiKey', {
      description: 'A key that may only start, stop and destroy this instance. It is in its environment too.',
    }),
    warnings: t.exposeStringList('warnings', {
      description: 'What is accepted, and may not do what the renter expects.',
    }),
    replayed: t.exposeBoolean('replayed', replayed),
  }),
})

const { union: RentInstanceResult, answer } = resultUnion(
  'RentInstanceResult',
  'An instance, or why there is none.',
  RentInstanceSuccess,
  [
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
)

/** Where the input has what the domain calls otherwise. */
export const rentIssuePaths = { ...specIssuePaths, bid: 'terms.interruptible.bidPerHour' }

builder.mutationField('rentInstance', t =>
  t.field({
    type: RentInstanceResult,
    description: `Rents an offer. Its id is used up by that, so the same request rents nothing twice. ${permissionSentence('instances.rent')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RentInstanceInput, required: true, description: 'What is wanted.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      answer(rentIssuePaths, () =>
        services.instances.rent(actor, parseRentInput(input), input.idempotencyKey ?? undefined),
      ),
  }),
)

export function parseRentInput({
  offerId,
  terms,
  spec,
  cancelUnavailable,
}: typeof RentInstanceInput.$inferInput): RentInput {
  return {
    offerId: parseId('Offer', offerId, 'offerId'),
    terms: parseTermsInput(terms),
    ...parseSpecInput(spec),
    cancelUnavailable,
  }
}

function parseTermsInput({ onDemand, interruptible }: typeof RentalTermsInput.$inferInput): RentalTerms {
  if (interruptible) return { interruptible: true, bidNanos: interruptible.bidPerHour }
  return { interruptible: false, maxPriceNanos: onDemand?.maxPricePerHour ?? undefined }
}
