import { renameIssuePaths } from '../../domain/errors.ts'
import { launchWarningsOf } from '../../domain/launch/launch.ts'
import { defaultDiskMb, type RentalType } from '../../domain/offers/offers.ts'
import type { RentalQuote } from '../../services/instances/rent/quote.ts'
import { builder } from '../builder.ts'
import { Refusal } from '../errors/error-types.ts'
import { toRefusalValue } from '../errors/result-union.ts'
import { LaunchConfig } from '../launch/launch.ts'
import { Offer } from '../offers/offers.ts'
import { permissionSentence } from '../permission.ts'
import { parseRentInput, RentInstanceInput, rentIssuePaths } from './rent.ts'

type RentQuoteShape = RentalQuote & { offerId: bigint; type: RentalType }

const RentQuote = builder.objectRef<RentQuoteShape>('RentQuote').implement({
  description: 'What renting would come to now. Nothing is held: another may be quicker.',
  fields: t => ({
    offer: t.field({
      type: Offer,
      nullable: true,
      description: `The offer, priced for what was asked for. Null when it is not on the market. ${permissionSentence('offers.get')}`,
      resolve: async ({ offerId, type, launch }, _args, { services, actor }) => {
        const pricing = { type, diskMb: launch?.diskMb ?? defaultDiskMb }
        return (await services.offers.byIds(actor, [offerId], pricing))[0] ?? null
      },
    }),
    rentable: t.boolean({
      description: 'Whether it can be rented so.',
      resolve: ({ blockers }) => blockers.length === 0,
    }),
    blockers: t.field({
      type: [Refusal],
      description: 'Every reason why renting would fail. What can be mended in the request comes first.',
      resolve: ({ blockers }) => blockers.map(reason => toRefusalValue(renameIssuePaths(reason, rentIssuePaths))),
    }),
    waits: t.exposeBoolean('waits', { description: 'Whether it would have to wait for its GPUs.' }),
    pricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: 'GPUs, disk and the volumes that are made, per hour while it runs. Null where that cannot be said.',
      resolve: ({ computeNanos, diskNanos, volumesNanos = 0n }) =>
        computeNanos === undefined || diskNanos === undefined ? null : computeNanos + diskNanos + volumesNanos,
    }),
    gpuPricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: 'The GPUs alone: the price on demand, or the bid.',
      resolve: ({ computeNanos }) => computeNanos ?? null,
    }),
    diskPricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: 'Its disk alone.',
      resolve: ({ diskNanos }) => diskNanos ?? null,
    }),
    volumesPricePerHour: t.field({
      type: 'Usd',
      nullable: true,
      description: 'The volumes alone that are made with it. They cost as much until they are deleted.',
      resolve: ({ diskNanos, volumesNanos }) => (diskNanos === undefined ? null : (volumesNanos ?? null)),
    }),
    runwaySecondsAfter: t.float({
      nullable: true,
      description:
        'For how many whole seconds the credit would last with it, if it had its GPUs at once and everything went on so. Null where that cannot be said.',
      resolve: ({ runwaySeconds }) => runwaySeconds,
    }),
    launch: t.field({
      type: LaunchConfig,
      nullable: true,
      description: 'What would be started, all defaults filled in. Null when the settings are not valid.',
      resolve: ({ launch }) => (launch ? { launch } : null),
    }),
    warnings: t.stringList({
      description: 'What is accepted, and may not do what the renter expects.',
      resolve: ({ launch, warnings }) => [...(launch ? launchWarningsOf(launch) : []), ...warnings],
    }),
  }),
})

builder.queryField('rentQuote', t =>
  t.field({
    type: RentQuote,
    description: `What renting would come to: the price, what would be started, and all that stands against it. ${permissionSentence('instances.quote')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RentInstanceInput, required: true, description: 'As it would be rented.' }) },
    resolve: async (_root, { input }, { services, actor }) => {
      const wish = parseRentInput(input)
      const type: RentalType = wish.terms.interruptible ? 'interruptible' : 'onDemand'
      return { ...(await services.instances.quote(actor, wish)), offerId: wish.offerId, type }
    },
  }),
)
