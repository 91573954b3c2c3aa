import { maxReplaceAttempts, minReplaceAttempts } from '../../domain/instances/policy/replacement.ts'
import { maxAttempts } from '../../domain/instances/rent/best-offer.ts'
import { authorizeOperation } from '../../services/authorize.ts'
import type { BestOfferRental } from '../../services/instances/rent/best-offer.ts'
import { builder } from '../builder.ts'
import { RentAttempt } from '../errors/best-offer-errors.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { idempotencyKey, replayed } from '../mutations.ts'
import { emptyPlaces, writtenFilter } from '../offers/empty-conditions.ts'
import { OfferFilter } from '../offers/filter.ts'
import { parseOfferFilter } from '../offers/parse-filter.ts'
import { defaultOrder, OfferOrder } from '../offers/search.ts'
import { addSearchHints } from '../offers/search-hints.ts'
import { selectionOf } from '../selection.ts'
import { Instance, instanceById } from './instances.ts'
import { InterruptibleTermsInput, rentedSelectionOf } from './rent.ts'
import { InstanceSpecInput, parseSpecInput, specIssuePaths } from './spec.ts'

const CappedTermsInput = builder.inputType('CappedTermsInput', {
  description: "On-demand terms: the host's price, up to a limit.",
  fields: t => ({
    maxPricePerHour: t.field({
      type: 'Usd',
      required: true,
      description: 'Highest price per hour that you accept for GPUs, disk and new volumes together.',
    }),
  }),
})

const BestTermsInput = builder.inputType('BestTermsInput', {
  description: 'Rental terms for the best offer: on demand up to a price limit, or interruptible at a bid.',
  isOneOf: true,
  fields: t => ({
    onDemand: t.field({ type: CappedTermsInput, description: "Rent on demand at the host's price, up to a limit." }),
    interruptible: t.field({
      type: InterruptibleTermsInput,
      description: 'Rent as interruptible at this bid. Only offers that the bid wins right now are tried.',
    }),
  }),
})

const ReplaceInput = builder.inputType('ReplaceInput', {
  description: 'When to replace an instance that does not run, and how often.',
  fields: t => ({
    within: t.string({
      required: true,
      description:
        'How long an instance may take until it runs, from `1m` to `1h`, such as `90s` or `10m`. Counted from its rental, or from its last start or change of its bid.',
    }),
    attempts: t.int({
      required: true,
      defaultValue: 3,
      description: `Highest number of instances to rent one after another, with the first, ${minReplaceAttempts} to ${maxReplaceAttempts}. Defaults to 3.`,
    }),
  }),
})

const RentBestOfferInput = builder.inputType('RentBestOfferInput', {
  description: 'The offers to search for, the rental terms, and the instance to create.',
  fields: t => ({
    filter: t.field({
      type: OfferFilter,
      required: true,
      description:
        'Offers to choose from. `{}` accepts any offer. A condition without a value is rejected, also if it is null or its variable was not sent: it would match every offer.',
    }),
    orderBy: t.field({
      type: [OfferOrder],
      required: true,
      defaultValue: defaultOrder,
      description: 'Order in which offers are tried. Defaults to cheapest first.',
    }),
    terms: t.field({ type: BestTermsInput, required: true, description: 'Rental terms: on demand or interruptible.' }),
    spec: t.field({ type: InstanceSpecInput, required: true, description: 'The instance to create.' }),
    maxAttempts: t.int({
      required: true,
      defaultValue: 10,
      description: `Highest number of offers to try, 1 to ${maxAttempts}. Defaults to 10.`,
    }),
    replace: t.field({
      type: ReplaceInput,
      description:
        'Destroys the instance if it does not run in time or its machine cannot start it, and rents the best offer that the search finds then, on another machine and on the same terms. An instance that never ran costs nothing. Never if absent or null.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const { union, answer } = mutationResult<BestOfferRental>('rentBestOffer', {
  description: 'The new instance, or the error that prevented the rental.',
  success: {
    description: 'An offer was rented, and its instance exists.',
    fields: t => ({
      instance: t.expose('instance', {
        type: Instance,
        description: 'The new instance. A replayed answer shows it as it is now.',
      }),
      attempts: t.expose('attempts', {
        type: [RentAttempt],
        description: 'All offers tried, in order. The last one is the rented offer.',
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
})

builder.mutationField('rentBestOffer', t =>
  t.field({
    type: union,
    description:
      'Searches offers and rents the best one that can start at once. If another renter takes it first, the next offer is tried.',
    requires: ['offers.search', 'instances.rent'],
    complexity: { field: 40 },
    args: {
      input: t.arg({
        type: RentBestOfferInput,
        required: true,
        description: 'The offers to search for, the rental terms, and the instance to create.',
      }),
    },
    resolve: (_root, { input }, context, info) =>
      answer({ ...specIssuePaths, bid: 'terms.interruptible.bidPerHour', order: 'orderBy' }, async () => {
        const { services, actor } = context
        authorizeOperation(actor, 'offers.search')
        authorizeOperation(actor, 'instances.rent')
        const { filter, orderBy, terms, spec, maxAttempts, replace } = input
        const rentInput = {
          // The offer found will cost money, so a condition whose variable the client forgot is refused.
          filter: parseOfferFilter(filter, emptyPlaces(writtenFilter(filter, info))),
          order: orderBy,
          terms: parseTermsInput(terms),
          ...parseSpecInput(spec),
          maxAttempts,
          replace: replace ?? undefined,
        }
        await addSearchHints(context, info, { input: filter, filter: rentInput.filter })
        const select = rentedSelectionOf(context, info, 'RentBestOfferSuccess')
        return await services.instances.rentBestOffer(actor, rentInput, select, input.idempotencyKey ?? undefined)
      }),
  }),
)

function parseTermsInput({ onDemand, interruptible }: typeof BestTermsInput.$inferInput) {
  return interruptible
    ? { interruptible: true as const, bidNanos: interruptible.bidPerHour }
    : { interruptible: false as const, maxPriceNanos: onDemand?.maxPricePerHour ?? 0n }
}

/** `replace` rents instances in place of others. */
const cause = 'because that one did not run in time. Null if there is none.'

builder.prismaObjectFields(Instance, t => ({
  replaces: t.field({
    type: Instance,
    nullable: true,
    description: `The instance that this one was rented in place of, ${cause}`,
    requires: 'instances.get',
    select: { replacesId: true },
    resolve: ({ replacesId }, _args, context, info) =>
      replacesId === null ? null : instanceById(context, selectionOf(context, info)).load(replacesId),
  }),
  replacedBy: t.field({
    type: Instance,
    nullable: true,
    description:
      'The instance that was rented in place of this one, because this one did not run in time. Null if there is none.',
    requires: 'instances.get',
    select: { replacedById: true },
    resolve: ({ replacedById }, _args, context, info) =>
      replacedById === null ? null : instanceById(context, selectionOf(context, info)).load(replacedById),
  }),
}))
