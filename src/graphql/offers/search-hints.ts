// The hints about searches of lists that have the filter fields of offers.

import type { GraphQLResolveInfo } from 'graphql'
import type { OfferFilter as Filter } from '../../domain/offers/filter.ts'
import { maxHints, memoryHints } from '../../domain/offers/hints.ts'
import { defaultPricing, type Pricing } from '../../domain/offers/offers.ts'
import type { Context } from '../context.ts'
import { addHints } from '../hints.ts'
import { itemFields } from '../selection.ts'
import { emptyFields } from './empty-conditions.ts'

type Search = { input: object | null | undefined; filter: Filter; pricing?: Pricing }

/** Says what a search may have meant, also if it found something: a wrong name beside a right one is easily missed. */
export async function addSearchHints(context: Context, info: GraphQLResolveInfo, search: Search): Promise<void> {
  const { input, filter, pricing } = search
  await addHints(context, info.path, async () => {
    const hints = [
      ...(await context.services.offers.hints(filter)),
      ...memoryHints(filter),
      ...emptyFields(input ?? {}).map(path => `${path} has nothing to compare with, so it leaves out nothing.`),
      ...(pricing ? priceHints(info, pricing) : []),
    ]
    return hints.slice(0, maxHints)
  })
}

const otherPrice =
  'The answer shows another price than `pricing` compares. Give its field `price` the same `pricing`, as an argument.'

function priceHints(info: GraphQLResolveInfo, { rentalKind, diskMb }: Pricing): string[] {
  if (rentalKind === defaultPricing.rentalKind && diskMb === defaultPricing.diskMb) return []
  const isOther = itemFields(info, 'price').some(
    field => !field.arguments?.some(({ name }) => name.value === 'pricing'),
  )
  return isOther ? [otherPrice] : []
}
