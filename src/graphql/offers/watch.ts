import type { OfferChange as OfferChangeShape } from '../../domain/offers/watch.ts'
import { maxRememberedPerAccount, maxWatched } from '../../domain/offers/watch.ts'
import { authorizeOperation } from '../../services/authorize.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { OfferFilter } from './filter.ts'
import { Offer } from './offers.ts'
import { parseOfferFilter } from './parse-filter.ts'
import { OfferPricingInput, parsePricing } from './price.ts'

const OfferChangeKind = enumOf<OfferChangeShape['kind']>(
  'OfferChangeKind',
  'How an offer changed for a subscription.',
  {
    added: 'The offer matches now and did not before.',
    updated: 'The offer still matches, and its data has changed.',
    removed: 'The offer no longer matches: it was rented, withdrawn or changed.',
  },
)

const OfferChange = builder.objectRef<OfferChangeShape>('OfferChange').implement({
  description: 'A change to an offer that matches, or matched before.',
  fields: t => ({
    kind: t.expose('kind', { type: OfferChangeKind, description: 'Whether the offer was added, updated or removed.' }),
    offerId: t.id({ description: 'ID of the offer.', resolve: ({ offerId }) => printId('Offer', offerId) }),
    offer: t.expose('offer', {
      type: Offer,
      nullable: true,
      description: 'Current state of the offer. Null when it was removed.',
    }),
  }),
})

builder.subscriptionField('offerChanges', t =>
  t.field({
    type: OfferChange,
    description: `Streams changes to the offers that match, from now on. Equal blocks of one machine are reported one by one. Rapid changes to one offer are coalesced: you receive its latest state. At most ${maxWatched} offers may match; all streams of an account together follow at most ${maxRememberedPerAccount}.`,
    requires: 'offers.watch',
    args: {
      filter: t.arg({
        type: OfferFilter,
        required: true,
        description:
          'Offers to watch. Only those that can be rented now, unless `availability` says otherwise. Names of GPU models, countries and CPU architectures that do not exist are refused; `startsWith` and `contains` can wait for a model that is new.',
      }),
      pricing: t.arg({
        type: OfferPricingInput,
        description:
          'Rental terms and disk size of the prices that `filter` compares. Defaults to on demand with 8 GB. `Offer.price` has a `pricing` of its own.',
      }),
    },
    subscribe: (_root, { filter, pricing }, { services, actor }) => {
      authorizeOperation(actor, 'offers.watch')
      return services.offers.watch(actor, parseOfferFilter(filter), parsePricing(pricing))
    },
    resolve: change => change,
  }),
)
