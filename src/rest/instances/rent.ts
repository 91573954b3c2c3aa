import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { failureOf } from '../error-codes.ts'
import { idempotencyFailures } from '../failures.ts'
import { type Failure, type Route, route } from '../route.ts'
import { integer, pathId, text } from '../values.ts'
import { parseRentBody, rentBody, rentIssuePaths } from './input.ts'
import { insufficientCredit, quotaExceeded, spendLimitExceeded, startBackoff } from './responses.ts'

export const rentResult = z
  .object({
    success: z.literal(true).describe('Always true.'),
    new_contract: integer('The new instance.'),
    instance_api_key: text('A key that may only start, stop and destroy the instance.'),
  })
  .meta({ id: 'Rented', description: 'An offer was rented.' })

const offerGoneMessage = 'The offer is not on the market any more, or cannot be rented now.'

/** What can stand against renting, beside what is not understood. */
export const rentFailures: Failure[] = [
  failureOf('OFFER_UNAVAILABLE', offerGoneMessage),
  failureOf('NOT_FOUND', 'There is no such template or volume, or it is not yours.'),
  failureOf('VOLUME_UNAVAILABLE', 'The volume is attached to another instance.'),
  ...idempotencyFailures,
  failureOf('BID_TOO_LOW', 'The bid is under the least that the host accepts.'),
  failureOf('SSH_KEY_REQUIRED', 'A virtual machine needs an SSH key that is registered before.'),
  insufficientCredit,
  spendLimitExceeded,
  quotaExceeded,
  startBackoff,
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
    takesIdempotencyKey: true,
    notIdempotent: true,
    result: rentResult,
    failures: [
      ...rentFailures,
      { status: 410, error: 'no_such_ask', when: `${offerGoneMessage} Instead of 404 when cancel_unavail was set.` },
    ],
    answer: async ({ services, actor, params: { id }, body, idempotencyKey }) => {
      const renting = services.instances.rent(actor, { offerId: id, ...parseRentBody(body) }, idempotencyKey)
      const { instance, apiKey } = await renting.catch((error: unknown) =>
        Promise.reject(renameIssuePaths(error, rentIssuePaths)),
      )
      return { success: true as const, new_contract: Number(instance.id), instance_api_key: apiKey }
    },
  })
}

export const rentRoutes: Route[] = [rentRoute('PUT', 'rentOffer'), rentRoute('POST', 'rentOfferByPost')]
