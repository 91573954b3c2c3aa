import { renameIssuePaths } from '../../domain/errors.ts'
import { launchWarningsOf } from '../../domain/launch/launch.ts'
import type { RentalQuote } from '../../services/instances/rent/quote.ts'
import { builder } from '../builder.ts'
import { Refusal } from '../errors/refusal.ts'
import { toRefusalValue } from '../errors/refusal-value.ts'
import { LaunchConfig } from '../launch/launch.ts'
import { Offer, offerById } from '../offers/offers.ts'
import { selectionOf } from '../selection.ts'
import { parseRentInput, RentInstanceInput, rentIssuePaths } from './rent.ts'

type RentQuoteShape = RentalQuote & { offerId: bigint }

const RentQuote = builder.objectRef<RentQuoteShape>('RentQuote').implement({
  description:
    'Price and obstacles of a rental at this moment. Nothing is reserved: another renter may take the offer first.',
  fields: t => ({
    offer: t.field({
      type: Offer,
      nullable: true,
      description: 'The offer to rent. Null when it is not on the market, unless your account rented it.',
      requires: 'offers.get',
      resolve: ({ offerId }, _args, context, info) => offerById(context, selectionOf(context, info)).load(offerId),
    }),
    rentable: t.boolean({
      description:
        'Whether `rentInstance` would rent now with this input and a new idempotency key, or none. True if there are no `blockers`.',
      resolve: ({ blockers }) => blockers.length === 0,
    }),
    blockers: t.field({
      type: [Refusal],
      description:
        'Every reason why the rental would fail now. A missing permission comes first, then problems that a change of the request solves.',
      resolve: ({ blockers }) => blockers.map(reason => toRefusalValue(renameIssuePaths(reason, rentIssuePaths))),
    }),
    waits: t.exposeBoolean('waits', { description: 'Whether the instance would have to wait for its GPUs.' }),
    pricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description:
        'Price per hour of GPUs, disk and new volumes while the instance runs, in US dollars. Null when it cannot be calculated.',
      resolve: ({ gpuPriceNanos, diskNanos, volumesNanos = 0n }) =>
        gpuPriceNanos === undefined || diskNanos === undefined ? null : gpuPriceNanos + diskNanos + volumesNanos,
    }),
    gpuPricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description:
        'Price per hour of the GPUs alone, in US dollars: the on-demand price or the bid. Null when it cannot be calculated.',
      resolve: ({ gpuPriceNanos }) => gpuPriceNanos ?? null,
    }),
    diskPricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: 'Price per hour of the disk alone, in US dollars. Null when it cannot be calculated.',
      resolve: ({ diskNanos }) => diskNanos ?? null,
    }),
    volumesPricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description:
        'Price per hour of the new volumes alone, in US dollars, charged until they are deleted. Null when it cannot be calculated.',
      resolve: ({ diskNanos, volumesNanos }) => (diskNanos === undefined ? null : (volumesNanos ?? null)),
    }),
    runwaySecondsAfter: t.float({
      nullable: true,
      description:
        'Whole seconds that the credit would last with this rental, assuming it gets its GPUs at once and nothing else changes. Null when it cannot be calculated or nothing costs anything.',
      resolve: ({ runwaySeconds }) => runwaySeconds,
    }),
    launch: t.field({
      type: LaunchConfig,
      nullable: true,
      description:
        'Settings that the container would start with, with all defaults filled in. Null when the settings are invalid.',
      resolve: ({ launch }) => (launch ? { launch, diskMb: launch.diskMb } : null),
    }),
    warnings: t.stringList({
      description: 'Accepted settings that may not behave as you expect.',
      resolve: ({ launch, warnings }) => [...(launch ? launchWarningsOf(launch) : []), ...warnings],
    }),
  }),
})

builder.queryField('rentQuote', t =>
  t.field({
    type: RentQuote,
    description:
      'Quotes a rental without renting: the price, the settings to start with, and everything that would block it.',
    requires: 'instances.quote',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: RentInstanceInput,
        required: true,
        description: 'The same input that `rentInstance` takes. A quote ignores its `idempotencyKey`.',
      }),
    },
    resolve: async (_root, { input }, { services, actor }) => {
      const rentInput = parseRentInput(input)
      return { ...(await services.instances.quote(actor, rentInput)), offerId: rentInput.offerId }
    },
  }),
)
