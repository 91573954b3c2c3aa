import { z } from 'zod'
import { renameIssues } from '../../domain/errors.ts'
import { failureOf } from '../error-codes.ts'
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
  failureOf('OFFER_UNAVAILABLE', noSuchAsk),
  failureOf('NOT_FOUND', 'There is no such template or volume, or it is not yours.'),
  failureOf('VOLUME_UNAVAILABLE', 'The volume is attached to another instance.'),
  ...repeated,
  failureOf('BID_TOO_LOW', 'The bid is under the least that the host accepts.'),
  failureOf('SSH_KEY_REQUIRED', 'A virtual machine needs an SSH key that is registered before.'),
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
