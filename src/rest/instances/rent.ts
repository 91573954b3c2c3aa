import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { idempotencyFailures } from '../documented-failures.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { integer, pathId, text } from '../values.ts'
import { parseRentBody, rentBody, rentIssuePaths } from './input.ts'
import { insufficientCredit, quotaExceeded, spendLimitExceeded, startBackoff } from './responses.ts'

export const rentedBody = z
  .object({
    success: z.literal(true).describe('Always true.'),
    new_contract: integer('ID of the new instance.'),
    instance_api_key: text('API key that may only start, stop and destroy the instance.'),
  })
  .meta({ id: 'Rented', description: 'The offer was rented.' })

const offerGoneMessage = 'The offer is no longer on the market, or cannot be rented now.'

/** Why a valid request to rent can fail. */
export const rentFailures: DocumentedFailure[] = [
  documentedFailureOf('OFFER_UNAVAILABLE', offerGoneMessage),
  documentedFailureOf('NOT_FOUND', 'The template or the volume does not exist, or the account may not use it.'),
  documentedFailureOf('VOLUME_UNAVAILABLE', 'The volume is attached to another instance.'),
  ...idempotencyFailures,
  documentedFailureOf('BID_TOO_LOW', 'The bid is below the minimum of the host.'),
  documentedFailureOf('SSH_KEY_REQUIRED', 'A virtual machine needs an SSH key. Register one before renting.'),
  insufficientCredit,
  spendLimitExceeded,
  quotaExceeded,
  startBackoff,
]

/** Renting has two methods: PUT is the documented one, and POST does the same. */
function rentRoute(method: 'PUT' | 'POST', operationId: string): Route {
  return route({
    method,
    path: '/api/v0/asks/{id}/',
    operationId,
    tag: 'Instances',
    summary: 'Rent an offer',
    about: 'Creates an instance from an offer. The id of the offer is then used up.',
    operation: 'instances.rent',
    params: z.object({ id: pathId('ID of the offer.') }),
    body: rentBody,
    takesIdempotencyKey: true,
    notIdempotent: true,
    example: {
      body: { image: 'ubuntu', disk: 16, runtype: 'ssh_direct', env: { GREETING: 'hello', '-p 8000:8000': '1' } },
    },
    result: rentedBody,
    failures: [
      ...rentFailures,
      { status: 410, error: 'no_such_ask', when: `${offerGoneMessage} Replaces 404 if cancel_unavail is set.` },
    ],
    answer: async ({ services, actor, params: { id }, body, idempotencyKey }) => {
      const input = { offerId: id, ...parseRentBody(body) }
      const renting = services.instances.rent(actor, input, { id: true }, { idempotencyKey })
      const { instance, apiKey } = await renting.catch((error: unknown) =>
        Promise.reject(renameIssuePaths(error, rentIssuePaths)),
      )
      return { success: true as const, new_contract: Number(instance.id), instance_api_key: apiKey }
    },
  })
}

export const rentRoutes: Route[] = [rentRoute('PUT', 'rentOffer'), rentRoute('POST', 'rentOfferByPost')]
