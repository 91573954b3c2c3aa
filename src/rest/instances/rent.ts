import { z } from 'zod'
import { renameIssues } from '../../domain/errors.ts'
import { repeated } from '../failures.ts'
import { type Failure, type Route, route } from '../route.ts'
import { integer, pathId, text } from '../values.ts'
import { backoff, noCredit, overLimit, overQuota } from './answers.ts'
import { readRent, rentBody, rentNames } from './input.ts'

export const rented = z
  .object({
    success: z.literal(true).describe('Always true.'),
    new_contract: integer('The new instance.'),
    instance_api_key: text('A key that may only start, stop and destroy the instance.'),
  })
  .meta({ id: 'Rented', description: 'An offer was rented.' })

const noSuchAsk = 'The offer is not on the market any more, or cannot be rented now.'

/** What can stand against renting, beside what is not understood. */
export const rentFailures: Failure[] = [
  { status: 404, error: 'no_such_ask', when: noSuchAsk },
  { status: 404, error: 'not_found', when: 'There is no such template or volume, or it is not yours.' },
  { status: 409, error: 'volume_in_use', when: 'The volume is attached to another instance.' },
  ...repeated,
  { status: 400, error: 'invalid_price', when: 'The bid is under the least that the host accepts.' },
  { status: 400, error: 'no_ssh_key_for_vm', when: 'A virtual machine needs an SSH key that is registered before.' },
  noCredit,
  overLimit,
  overQuota,
  backoff,
]

/** Renting has two methods: PUT is the one of the documentation, and POST does the same. */
function rentRoute(method: 'PUT' | 'POST', operationId: string): Route {
  return route({
    method,
    path: '/api/v0/asks/{id}/',
    operationId,
    tag: 'Instances',
    summary: 'Rent an offer',
    about: 'Makes an instance of an offer, whose id is used up by that.',
    operation: 'instances.rent',
    params: z.object({ id: pathId('The offer.') }),
    body: rentBody,
    repeatable: true,
    countsTwice: true,
    result: rented,
    failures: [
      ...rentFailures,
      { status: 410, error: 'no_such_ask', when: `${noSuchAsk} Instead of 404 when cancel_unavail was set.` },
    ],
    answer: async ({ services, actor, params: { id }, body, idempotencyKey }) => {
      const renting = services.instances.rent(actor, { offerId: id, ...readRent(body) }, idempotencyKey)
      const { instance, apiKey } = await renting.catch((error: unknown) =>
        Promise.reject(renameIssues(error, rentNames)),
      )
      return { success: true as const, new_contract: Number(instance.id), instance_api_key: apiKey }
    },
  })
}

export const rentRoutes: Route[] = [rentRoute('PUT', 'rentOffer'), rentRoute('POST', 'rentOfferByPost')]
