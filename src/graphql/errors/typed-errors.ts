// Refusals as types, each with its own data.

import type { Attempt } from '../../domain/errors.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { Offer } from '../offers/offers.ts'
import { Volume, volumeById } from '../volumes/volumes.ts'
import {
  InsufficientCreditError,
  QuotaExceededError,
  SpendLimitExceededError,
  StartBackoffError,
} from './account-errors.ts'
import type { RefusalCode } from './codes.ts'
import { ErrorCodeEnum, Refusal, refusalType } from './error-types.ts'

const ValidationIssue = builder.objectRef<{ path: string; message: string }>('ValidationIssue').implement({
  description: 'One thing wrong with an input.',
  fields: t => ({
    path: t.exposeString('path', { description: 'Where in the input, such as `spec.diskGb`.' }),
    message: t.exposeString('message', { description: 'What is wrong there.' }),
  }),
})

const InvalidInputError = refusalType('INVALID_INPUT').implement({
  description: 'Something in the input is wrong.',
  interfaces: [Refusal],
  fields: t => ({
    issues: t.field({
      type: [ValidationIssue],
      description: 'Everything that is wrong, not only the first thing.',
      resolve: ({ details }) => details.issues,
    }),
  }),
})

const NotFoundError = refusalType('NOT_FOUND').implement({
  description: 'There is no such thing, or none of yours.',
  interfaces: [Refusal],
  fields: t => ({
    id: t.id({
      nullable: true,
      description: 'What was not found, if it was named by an id.',
      resolve: ({ details: { subject } }) => (subject ? printId(subject.type, subject.id) : null),
    }),
  }),
})

const OfferUnavailableError = refusalType('OFFER_UNAVAILABLE').implement({
  description: 'The offer is not on the market, or cannot be rented now. Others may have been quicker.',
  interfaces: [Refusal],
  fields: t => ({
    alternatives: t.field({
      type: [Offer],
      description: 'The cheapest offers of as many GPUs of the same model. None for a key that may not search.',
      resolve: ({ details }) => details.alternatives,
    }),
    yourInstance: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance that you rented with this offer in the last 24 hours, if it was you.',
      resolve: ({ details: { instanceId } }, _args, context) =>
        instanceId === null ? null : instanceById(context).load(instanceId),
    }),
  }),
})

const BidTooLowError = refusalType('BID_TOO_LOW').implement({
  description: 'The host accepts no bid as low as this.',
  interfaces: [Refusal],
  fields: t => ({
    minimumBidPerHour: t.field({
      type: 'Usd',
      description: 'The least bid that the host accepts for these GPUs.',
      resolve: ({ details }) => details.minimumBidNanos,
    }),
  }),
})

const PriceChangedError = refusalType('PRICE_CHANGED').implement({
  description: 'The price is higher than the most that was to be paid.',
  interfaces: [Refusal],
  fields: t => ({
    currentPricePerHour: t.field({
      type: 'Usd',
      description: 'What is asked for costs this now: GPUs with their disks, or a volume.',
      resolve: ({ details }) => details.currentPriceNanos,
    }),
  }),
})

const SshKeyRequiredError = refusalType('SSH_KEY_REQUIRED').implement({
  description: 'A virtual machine needs an SSH key registered before: there is no other way into it.',
  interfaces: [Refusal],
})

const InvalidStateError = refusalType('INVALID_STATE').implement({
  description: 'The state of the instance does not allow it.',
  interfaces: [Refusal],
  fields: t => ({
    current: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance as it is, with what can be done to it. Null for a key that may not read it.',
      resolve: ({ details: { instanceId } }, _args, context) =>
        instanceId === null ? null : instanceById(context).load(instanceId),
    }),
  }),
})

export const RentAttempt = builder.objectRef<Attempt>('RentAttempt').implement({
  description: 'An offer that was tried.',
  fields: t => ({
    offerId: t.id({ description: 'The offer.', resolve: ({ offerId }) => printId('Offer', offerId) }),
    failure: t.field({
      type: ErrorCodeEnum,
      nullable: true,
      description: 'Why it was not rented. Null for the one that was.',
      resolve: ({ code }) => code,
    }),
  }),
})

const NoOfferRentedError = refusalType('NO_OFFER_RENTED').implement({
  description: 'None of the offers that match could be rented.',
  interfaces: [Refusal],
  fields: t => ({
    attempts: t.field({
      type: [RentAttempt],
      description: 'The offers that were tried. None where none matched.',
      resolve: ({ details }) => details.attempts,
    }),
  }),
})

const VolumeUnavailableError = refusalType('VOLUME_UNAVAILABLE').implement({
  description: 'The volume is attached to an instance, or that instance is not quite gone yet.',
  interfaces: [Refusal],
  fields: t => ({
    volume: t.field({
      type: Volume,
      nullable: true,
      description: 'The volume. Null for a key that may not read it.',
      resolve: ({ details: { volumeId } }, _args, context) => volumeById(context).load(volumeId),
    }),
    attachedTo: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance that has it. Null for a key that may not read it.',
      resolve: ({ details: { instanceId } }, _args, context) => instanceById(context).load(instanceId),
    }),
  }),
})

const ConflictError = refusalType('CONFLICT').implement({
  description: 'There is one already, or as many as there may be.',
  interfaces: [Refusal],
  fields: t => ({
    id: t.id({
      nullable: true,
      description: 'The one that there is already. Null when there are as many as there may be.',
      resolve: ({ details: { subject } }) => (subject ? printId(subject.type, subject.id) : null),
    }),
  }),
})

const IdempotencyError = refusalType<'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_IN_PROGRESS'>(
  'IDEMPOTENCY_KEY_REUSED',
).implement({
  description: 'The idempotency key belongs to another request, or to one that has not ended yet.',
  interfaces: [Refusal],
})

export const errorTypes = {
  INVALID_INPUT: InvalidInputError,
  NOT_FOUND: NotFoundError,
  OFFER_UNAVAILABLE: OfferUnavailableError,
  BID_TOO_LOW: BidTooLowError,
  PRICE_CHANGED: PriceChangedError,
  INSUFFICIENT_CREDIT: InsufficientCreditError,
  SPEND_LIMIT_EXCEEDED: SpendLimitExceededError,
  QUOTA_EXCEEDED: QuotaExceededError,
  START_BACKOFF: StartBackoffError,
  SSH_KEY_REQUIRED: SshKeyRequiredError,
  INVALID_STATE: InvalidStateError,
  NO_OFFER_RENTED: NoOfferRentedError,
  VOLUME_UNAVAILABLE: VolumeUnavailableError,
  CONFLICT: ConflictError,
  IDEMPOTENCY_KEY_REUSED: IdempotencyError,
  IDEMPOTENCY_IN_PROGRESS: IdempotencyError,
} satisfies Record<RefusalCode, unknown>
