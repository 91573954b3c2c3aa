import { z } from 'zod'
import { invalidInput, renameIssues } from '../../domain/errors.ts'
import { type BestWish, maxAttempts } from '../../domain/instances/rent/best.ts'
import { comparesWithNothing } from '../../domain/offers/filter.ts'
import { isAbsent, isObject, parseJson } from '../columns.ts'
import { restFields } from '../offers/fields.ts'
import { readSearch } from '../offers/input.ts'
import { type Route, route } from '../route.ts'
import { readRent, rentBody, rentNames } from './input.ts'
import { rented, rentFailures } from './rent.ts'

const launchBody = rentBody.extend({
  q: z
    .unknown()
    .refine(q => q !== undefined, 'is required.')
    .meta({
      anyOf: [{ $ref: '#/components/schemas/OfferSearch' }, { type: 'string' }],
      description: 'Which offers will do, and which of them is best. Also as JSON in a text.',
    }),
})

export const launchRoutes: Route[] = [
  route({
    method: 'PUT',
    path: '/api/v0/launch_instance/',
    operationId: 'launchInstance',
    tag: 'Instances',
    summary: 'Search and rent',
    about: `Rents the best offer of a search that can start at once and, when another is quicker, the next: at most as many as the search's limit, and never more than ${maxAttempts}. It needs misc too.`,
    operation: 'instances.rent',
    body: launchBody,
    repeatable: true,
    countsTwice: true,
    result: rented,
    failures: rentFailures,
    answer: async ({ services, actor, body, idempotencyKey }) => {
      const renting = services.instances.rentBest(actor, readLaunch(body), idempotencyKey)
      const { instance, apiKey } = await renting.catch((error: unknown) =>
        Promise.reject(renameIssues(error, rentNames)),
      )
      return { success: true as const, new_contract: Number(instance.id), instance_api_key: apiKey }
    },
  }),
]

function readLaunch({ q, ...body }: z.output<typeof launchBody>): BestWish {
  checkFilters(typeof q === 'string' ? parseJson(q) : q)
  const { search, limit } = readSearch({ q })
  const { terms, launch, templateHash } = readRent(body)
  const { filter, order, pricing } = search
  const attempts = Math.min(limit, maxAttempts)
  return { filter, order, type: pricing.type, terms, launch, templateHash, maxAttempts: attempts }
}

/** A search ignores filters that are unknown or empty. Renting by one would pay for an offer that was not meant. */
function checkFilters(search: unknown): void {
  const filters = Object.entries(isObject(search) ? search : {})
  const issues = filters.flatMap(([path, comparisons]) => {
    if (!isObject(comparisons)) return []
    if (!Object.hasOwn(restFields, path)) return [{ path, message: 'is no field of an offer that can be filtered by.' }]
    const isEmpty = Object.values(comparisons).every(isAbsent)
    return isEmpty ? [{ path, message: comparesWithNothing }] : []
  })
  if (issues.length > 0) throw invalidInput(issues)
}
