// The object types of refusals, each with the data of its code.

import type { Issue } from '../../domain/errors.ts'
import { printTypedIds } from '../../domain/messages.ts'
import { PermissionOperation } from '../accounts/permissions.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { Offer } from '../offers/offers.ts'
import { selectionOf } from '../selection.ts'
import { Volume, volumeById } from '../volumes/volumes.ts'
import {
  InsufficientCreditError,
  QuotaExceededError,
  SpendLimitExceededError,
  StartBackoffError,
} from './account-errors.ts'
import { NoOfferRentedError } from './best-offer-errors.ts'
import type { RefusalCode } from './codes.ts'
import { Refusal, refusalType } from './refusal.ts'

const ValidationIssue = builder.objectRef<Issue>('ValidationIssue').implement({
  description: 'One problem in an input.',
  fields: t => ({
    path: t.exposeString('path', { description: 'Place of the problem in the input, such as `spec.diskGb`.' }),
    message: t.string({
      description: 'Description of the problem, such as "must be at least 8". Read it after the path.',
      resolve: ({ message }) => printTypedIds(message),
    }),
  }),
})

const InvalidInputError = refusalType('INVALID_INPUT').implement({
  description: 'The input is invalid.',
  interfaces: [Refusal],
  fields: t => ({
    issues: t.field({
      type: [ValidationIssue],
      description: 'All problems of the input, not only the first one.',
      resolve: ({ details }) => details.issues,
    }),
  }),
})

const NotFoundError = refusalType('NOT_FOUND').implement({
  description: 'The item does not exist, or it belongs to another account.',
  interfaces: [Refusal],
  fields: t => ({
    id: t.id({
      nullable: true,
      description: 'ID of the item that was not found. Null if the request did not name it by ID.',
      resolve: ({ details: { subject } }) => (subject ? printId(subject.type, subject.id) : null),
    }),
    names: t.stringList({
      description: 'Names of the items that were not found. Empty if the request did not name them by name.',
      resolve: ({ details: { names = [] } }) => [...names],
    }),
  }),
})

const OfferUnavailableError = refusalType('OFFER_UNAVAILABLE').implement({
  description: 'The offer is off the market, or it cannot be rented now. Another renter may have taken it.',
  interfaces: [Refusal],
  fields: t => ({
    alternatives: t.field({
      type: [Offer],
      description:
        'The cheapest offers with the same number of GPUs of the same model. Empty for an API key that may not search.',
      resolve: ({ details }) => details.alternatives,
    }),
    yourInstance: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance that your account rented with this offer in the last 24 hours. Null if there is none.',
      requires: 'instances.get',
      resolve: ({ details: { instanceId } }, _args, context, info) =>
        instanceId === null ? null : instanceById(context, selectionOf(context, info)).load(instanceId),
    }),
  }),
})

const BidTooLowError = refusalType('BID_TOO_LOW').implement({
  description: 'The bid is below the minimum that the host accepts.',
  interfaces: [Refusal],
  fields: t => ({
    hostMinimumBidPerHour: t.field({
      type: 'Usd',
      description:
        'Lowest bid that the host accepts for all GPUs of the offer or instance, in US dollars per hour. A bid that wins them may have to be higher: see `minimumBidPerHour` of `Offer` and `Instance`.',
      resolve: ({ details }) => details.minimumBidNanos,
    }),
  }),
})

const PriceChangedError = refusalType('PRICE_CHANGED').implement({
  description: 'The current price is above the maximum price in the request.',
  interfaces: [Refusal],
  fields: t => ({
    currentPricePerHour: t.field({
      type: 'Usd',
      description:
        'Current price of the requested GPUs with their disk, or of the requested volume, in US dollars per hour.',
      resolve: ({ details }) => details.currentPriceNanos,
    }),
  }),
})

const SshKeyRequiredError = refusalType('SSH_KEY_REQUIRED').implement({
  description:
    'A virtual machine needs an SSH key that the account has before the rental. SSH is the only way to log in to it.',
  interfaces: [Refusal],
})

const InvalidStateError = refusalType('INVALID_STATE').implement({
  description: 'The state of the instance does not allow the request.',
  interfaces: [Refusal],
  fields: t => ({
    current: t.field({
      type: Instance,
      nullable: true,
      description:
        'The instance in its current state; `actions` lists what it allows. Null for an API key that may not read the instance.',
      requires: 'instances.get',
      resolve: ({ details: { instanceId } }, _args, context, info) =>
        instanceId === null ? null : instanceById(context, selectionOf(context, info)).load(instanceId),
    }),
  }),
})

const VolumeUnavailableError = refusalType('VOLUME_UNAVAILABLE').implement({
  description: 'The volume is attached to an instance, or to a destroyed instance whose removal has not finished.',
  interfaces: [Refusal],
  fields: t => ({
    volume: t.field({
      type: Volume,
      nullable: true,
      description: 'The volume. Null for an API key that may not read the volume.',
      requires: 'volumes.get',
      resolve: ({ details: { volumeId } }, _args, context, info) =>
        volumeById(context, selectionOf(context, info)).load(volumeId),
    }),
    attachedTo: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance that the volume is attached to. Null for an API key that may not read the instance.',
      requires: 'instances.get',
      resolve: ({ details: { instanceId } }, _args, context, info) =>
        instanceById(context, selectionOf(context, info)).load(instanceId),
    }),
  }),
})

const ConflictError = refusalType('CONFLICT').implement({
  description: 'The item exists already or has changed, or the account has the maximum number of such items.',
  interfaces: [Refusal],
  fields: t => ({
    id: t.id({
      nullable: true,
      description: 'ID of the item that exists already or has changed. Null if the account has the maximum number.',
      resolve: ({ details: { subject } }) => (subject ? printId(subject.type, subject.id) : null),
    }),
  }),
})

const ForbiddenError = refusalType('FORBIDDEN').implement({
  description: 'The API key lacks a permission for the request, or its constraints exclude the request.',
  interfaces: [Refusal],
  fields: t => ({
    missing: t.field({
      type: [PermissionOperation],
      description: 'Operations that the key would have to be allowed, at least for this request.',
      resolve: ({ details }) => details.missing.flatMap(({ operation }) => operation ?? []),
    }),
  }),
})

const IdempotencyError = refusalType<'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_IN_PROGRESS'>(
  'IDEMPOTENCY_KEY_REUSED',
).implement({
  description:
    'The idempotency key was used for another request, its first request is still running, or the item or the secret of its first answer no longer exists.',
  interfaces: [Refusal],
})

export const refusalTypes = {
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
  FORBIDDEN: ForbiddenError,
  IDEMPOTENCY_KEY_REUSED: IdempotencyError,
  IDEMPOTENCY_IN_PROGRESS: IdempotencyError,
} satisfies Record<RefusalCode, unknown>
