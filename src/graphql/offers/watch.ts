import type { OfferChange as OfferChangeShape } from '../../domain/offers/watch.ts'
import { maxRememberedPerAccount, maxWatched } from '../../domain/offers/watch.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { OfferFilter, parseOfferFilter } from './filter.ts'
import { Offer } from './offers.ts'
import { OfferPricingInput, parsePricing } from './search.ts'

const OfferChangeKind = enumOf<OfferChangeShape['kind']>('OfferChangeKind', 'What became of an offer.', {
  added: 'It matches now.',
  updated: 'It matches still, and something about it is different.',
  removed: 'It matches no more: it was rented, withdrawn or changed.',
})

const OfferChange = builder.objectRef<OfferChangeShape>('OfferChange').implement({
  description: 'What became of an offer.',
  fields: t => ({
    kind: t.expose('kind', { type: OfferChangeKind, description: 'Whether it came, changed or went.' }),
    offerId: t.id({ description: 'The offer.', resolve: ({ offerId }) => printId('Offer', offerId) }),
    offer: t.expose('offer', {
      type: Offer,
      nullable: true,
      description: 'The offer as it is now. Null when it went.',
    }),
  }),
})

builder.subscriptionField('offerChanges', t =>
  t.field({
    type: OfferChange,
    description: `What changes of the offers that match, from now on. Each is told for itself, also those of equal blocks of which a search shows one. What changes faster than it is told is told in its outcome. At most ${maxWatched} offers may match, and the streams of an account follow at most ${maxRememberedPerAccount} together. ${permissionSentence('offers.watch')}`,
    args: {
      filter: t.arg({
        type: OfferFilter,
        required: true,
        description: 'Which offers are wanted. Those that can be rented now, unless `rentable` says otherwise.',
      }),
      pricing: t.arg({
        type: OfferPricingInput,
        description: 'What the prices are for. On demand with a disk of 8 GB, when absent.',
      }),
    },
    subscribe: (_root, { filter, pricing }, { services, actor }) =>
      services.offers.watch(actor, parseOfferFilter(filter), parsePricing(pricing)),
    resolve: change => change,
  }),
)
