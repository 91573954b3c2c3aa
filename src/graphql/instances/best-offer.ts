import { maxAttempts } from '../../domain/instances/rent/best-offer.ts'
import type { BestOfferRental } from '../../services/instances/rent/best-offer.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { RentAttempt } from '../errors/typed-errors.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { OfferFilter, parseOfferFilter } from '../offers/filter.ts'
import { defaultOrder, OfferOrder } from '../offers/search.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'
import { InterruptibleTermsInput } from './rent.ts'
import { InstanceSpecInput, parseSpecInput, specIssuePaths } from './spec.ts'

const CappedTermsInput = builder.inputType('CappedTermsInput', {
  description: "At the host's price, up to a limit.",
  fields: t => ({
    maxPricePerHour: t.field({
      type: 'Usd',
      required: true,
      description: 'The most that GPUs, disk and new volumes may cost per hour.',
    }),
  }),
})

const BestTermsInput = builder.inputType('BestTermsInput', {
  description: 'How the price is made, and how high it may be.',
  isOneOf: true,
  fields: t => ({
    onDemand: t.field({ type: CappedTermsInput, description: "At the host's price, up to a limit." }),
    interruptible: t.field({ type: InterruptibleTermsInput, description: 'At a bid, where it wins now.' }),
  }),
})

const RentBestOfferInput = builder.inputType('RentBestOfferInput', {
  description: 'What is looked for, for how much, and what runs on it.',
  fields: t => ({
    filter: t.field({
      type: OfferFilter,
      required: true,
      description: 'Which offers will do. `{}` is any; a field that compares with nothing is refused.',
    }),
    orderBy: t.field({
      type: [OfferOrder],
      required: true,
      defaultValue: defaultOrder,
      description: 'Which of them is best. The cheapest, when absent.',
    }),
    terms: t.field({ type: BestTermsInput, required: true, description: 'How the price is made.' }),
    spec: t.field({ type: InstanceSpecInput, required: true, description: 'What runs.' }),
    maxAttempts: t.int({
      required: true,
      defaultValue: 10,
      description: `How many offers are tried, from 1 to ${maxAttempts}.`,
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const RentBestOfferSuccess = builder.objectRef<BestOfferRental>('RentBestOfferSuccess').implement({
  description: 'An offer was rented.',
  fields: t => ({
    instance: t.expose('instance', { type: Instance, description: 'What was made of it.' }),
    attempts: t.expose('attempts', {
      type: [RentAttempt],
      description: 'The offers that were tried, the rented one last.',
    }),
    instanceApiKey: t.exposeString('apiKey', {
      description: 'A key that may only start, stop and destroy this instance. It is in its environment too.',
    }),
    warnings: t.exposeStringList('warnings', {
      description: 'What is accepted, and may not do what the renter expects.',
    }),
    replayed: t.exposeBoolean('replayed', replayed),
  }),
})

const { union: RentBestOfferResult, answer } = resultUnion(
  'RentBestOfferResult',
  'An instance, or why there is none.',
  RentBestOfferSuccess,
  [
    'INVALID_INPUT',
    'NO_OFFER_RENTED',
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

builder.mutationField('rentBestOffer', t =>
  t.field({
    type: RentBestOfferResult,
    description: `Searches and rents: the best offer that can start at once and, when another is quicker, the next. ${permissionSentence('instances.rent')} It needs \`misc\` too.`,
    complexity: { field: 40 },
    args: { input: t.arg({ type: RentBestOfferInput, required: true, description: 'What is wanted.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      answer({ ...specIssuePaths, bid: 'terms.interruptible.bidPerHour', order: 'orderBy' }, async () => {
        const { filter, orderBy, terms, spec, maxAttempts } = input
        const wish = {
          filter: parseOfferFilter(filter, { complete: true }),
          order: orderBy,
          terms: parseTermsInput(terms),
          ...parseSpecInput(spec),
          maxAttempts,
        }
        return await services.instances.rentBestOffer(actor, wish, input.idempotencyKey ?? undefined)
      }),
  }),
)

function parseTermsInput({ onDemand, interruptible }: typeof BestTermsInput.$inferInput) {
  return interruptible
    ? { interruptible: true as const, bidNanos: interruptible.bidPerHour }
    : { interruptible: false as const, maxPriceNanos: onDemand?.maxPricePerHour ?? 0n }
}
