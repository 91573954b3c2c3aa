import { z } from 'zod'
import { type DomainError, renameIssuePaths } from '../../domain/errors.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { combineErrors, maxOffersPerRequest } from '../../domain/instances/rent/many.ts'
import { targetStates } from '../../domain/instances/states.ts'
import type { RentOutcome } from '../../services/instances/rent/many.ts'
import { failureBody, idempotencyFailures, sharedFailures } from '../documented-failures.ts'
import { itemFailureOf, RestFailure } from '../errors.ts'
import { type Route, route } from '../route.ts'
import { boolean, integer, number, text } from '../values.ts'
import { parseRentBody, rentBody, rentIssuePaths } from './input.ts'
import { rentFailures } from './rent.ts'

const rentManyBody = rentBody.extend({
  ids: z
    .array(z.int().min(0))
    .optional()
    .describe(`IDs of the offers: 1 to ${maxOffersPerRequest}, duplicates included.`),
})

const offerResult = z
  .object({
    ask_id: integer('ID of the offer.'),
    success: boolean('Whether the offer was rented.'),
    new_contract: integer('ID of the new instance. Absent if the offer was not rented.').optional(),
    state: z
      .enum(targetStates)
      .optional()
      .describe('Desired state of the new instance. Absent if the offer was not rented.'),
    error: text('Error code. Absent if the offer was rented.').optional(),
    msg: text('Error message. Absent if the offer was rented.').optional(),
  })
  .meta({ id: 'BulkRentResult', description: 'The result for one offer.' })
type OfferResult = z.input<typeof offerResult>

const rentManyFields = {
  results: z.array(offerResult).describe('The result for each offer, in the order of the ids.'),
  created: z.array(integer('ID of an instance.')).describe('IDs of the new instances.'),
  failed: z.array(integer('ID of an offer.')).describe('IDs of the offers that were not rented.'),
}
const noneRented = failureBody
  .extend(rentManyFields)
  .meta({ id: 'NoneRented', description: 'The failure of a bulk request that rented no offer.' })

export const rentManyRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v0/asks/bulk/',
    operationId: 'rentOffers',
    tag: 'Instances',
    summary: 'Rent many offers',
    about: 'Rents many offers with the same settings, one after another. Each one succeeds or fails independently.',
    operation: 'instances.rent',
    body: rentManyBody,
    takesIdempotencyKey: true,
    notIdempotent: true,
    example: { body: { ids: [421], image: 'ubuntu', disk: 16 } },
    result: z.object({
      success: z.literal(true).describe('Always true: at least one was rented.'),
      ...rentManyFields,
      elapsed: number('Duration of the request, in seconds.'),
    }),
    failures: [
      sharedFailures.InvalidArgs,
      ...idempotencyFailures,
      ...[sharedFailures.InvalidArgs, ...rentFailures].map(({ error, when }) => {
        return { status: 400, error, when: `No offer was rented. ${when}`, body: noneRented }
      }),
    ],
    changes: ({ body: { ids = [] } }) => ids.length,
    answer: async ({ services, actor, body: { ids, ...body }, idempotencyKey }) => {
      if (!ids) throw new RestFailure(400, 'invalid_args', "error missings offer 'ids' parameter")
      const begun = performance.now()
      const input = { offerIds: ids.map(BigInt), ...parseRentBody(body) }
      const renting = services.instances.rentMany(actor, input, { id: true, targetState: true }, idempotencyKey)
      const rented = await renting.catch((error: unknown) => Promise.reject(renameIssuePaths(error, rentIssuePaths)))
      const outcome = summarizeRentals(rented)
      return { success: true as const, ...outcome, elapsed: Math.round(performance.now() - begun) / 1000 }
    },
  }),
]

type Rented = Pick<Instance, 'id' | 'targetState'>

function summarizeRentals(rented: RentOutcome<Rented>[]) {
  const errors = rented.flatMap(one => ('error' in one ? renameRentIssues(one.error) : []))
  const results = rented.map(offerResultOf)
  const created = results.flatMap(({ new_contract }) => new_contract ?? [])
  const failed = results.filter(({ success }) => !success).map(({ ask_id }) => ask_id)
  const outcome = { results, created, failed }
  if (created.length > 0) return outcome
  const { error, msg } = itemFailureOf(combineErrors(errors))
  throw new RestFailure(400, error, msg, outcome)
}

function offerResultOf({ offerId, ...outcome }: RentOutcome<Rented>): OfferResult {
  const ask_id = Number(offerId)
  if ('error' in outcome) return { ask_id, success: false, ...itemFailureOf(renameRentIssues(outcome.error)) }
  const { id, targetState } = outcome.rental.instance
  return { ask_id, success: true, new_contract: Number(id), state: targetState }
}

function renameRentIssues(error: DomainError): DomainError {
  return renameIssuePaths(error, rentIssuePaths)
}
