import { z } from 'zod'
import { invalidInput, renameIssuePaths } from '../../domain/errors.ts'
import { maxAttempts, type RentBestOfferInput } from '../../domain/instances/rent/best-offer.ts'
import { emptyFieldMessage } from '../../domain/offers/filter.ts'
import { isAbsent, isObject, parseJson } from '../json-values.ts'
import { restFields } from '../offers/fields.ts'
import { parseSearch } from '../offers/input.ts'
import { type Route, route } from '../route.ts'
import { parseRentBody, rentBody, rentIssuePaths } from './input.ts'
import { rentedBody, rentFailures } from './rent.ts'

const rentBestOfferBody = rentBody.extend({
  q: z
    .unknown()
    .refine(q => q !== undefined, 'is required.')
    .meta({
      anyOf: [{ $ref: '#/components/schemas/OfferSearch' }, { type: 'string' }],
      description: 'Search whose best offer is rented. Also accepted as a JSON string.',
    }),
})

export const rentBestOfferRoutes: Route[] = [
  route({
    method: 'PUT',
    path: '/api/v0/launch_instance/',
    operationId: 'launchInstance',
    tag: 'Instances',
    summary: 'Search and rent',
    about: `Searches offers and rents the best one that can start at once. If another renter is faster, the next offer is tried. The limit of the search is also the limit of attempts, with a maximum of ${maxAttempts}. The search needs misc.`,
    operation: 'instances.rent',
    body: rentBestOfferBody,
    takesIdempotencyKey: true,
    notIdempotent: true,
    example: { body: { image: 'ubuntu', q: { gpu_name: { eq: 'RTX 4090' }, order: [['dph_total', 'asc']] } } },
    result: rentedBody,
    failures: rentFailures,
    answer: async ({ services, actor, body, idempotencyKey }) => {
      const renting = services.instances.rentBestOffer(
        actor,
        parseRentBestOfferBody(body),
        { id: true },
        idempotencyKey,
      )
      const { instance, apiKey } = await renting.catch((error: unknown) =>
        Promise.reject(renameIssuePaths(error, rentIssuePaths)),
      )
      return { success: true as const, new_contract: Number(instance.id), instance_api_key: apiKey }
    },
  }),
]

function parseRentBestOfferBody({ q, ...body }: z.output<typeof rentBestOfferBody>): RentBestOfferInput {
  refuseUselessFilters(typeof q === 'string' ? parseJson(q) : q)
  const { search, limit } = parseSearch({ q })
  const { terms, launch, template } = parseRentBody(body)
  const { filter, order, pricing } = search
  const attempts = Math.min(limit, maxAttempts)
  return { filter, order, type: pricing.rentalKind, terms, launch, template, maxAttempts: attempts }
}

/** A search ignores unknown and empty filters. Renting with one could pay for an offer that the caller did not mean. */
function refuseUselessFilters(search: unknown): void {
  const filters = Object.entries(isObject(search) ? search : {})
  const issues = filters.flatMap(([path, comparisons]) => {
    if (!isObject(comparisons)) return []
    if (!Object.hasOwn(restFields, path)) return [{ path, message: 'is not an offer field that can be filtered.' }]
    const isEmpty = Object.values(comparisons).every(isAbsent)
    return isEmpty ? [{ path, message: emptyFieldMessage }] : []
  })
  if (issues.length > 0) throw invalidInput(issues)
}
