import { z } from 'zod'
import { type DomainError, renameIssuePaths } from '../../domain/errors.ts'
import { combineErrors, maxOffersPerRequest } from '../../domain/instances/rent/many.ts'
import { targetStates } from '../../domain/instances/states.ts'
import type { RentOutcome } from '../../services/instances/rent/many.ts'
import { itemFailureOf, RestFailure } from '../errors.ts'
import { failureBody, idempotencyFailures, sharedFailures } from '../failures.ts'
import { type Route, route } from '../route.ts'
import { boolean, integer, number, text } from '../values.ts'
import { parseRentBody, rentBody, rentIssuePaths } from './input.ts'
import { rentFailures } from './rent.ts'

const rentManyBody = rentBody.extend({
  ids: z
    .array(z.int().min(0))
    .optional()
    .describe(`The offers: at least one, at most ${maxOffersPerRequest}, counted with duplicates.`),
})

const offerResult = z
  .object({
    ask_id: integer('The offer.'),
    success: boolean('Whether it was rented.'),
    new_contract: integer('The new instance, where it was.').optional(),
    state: z.enum(targetStates).optional().describe('What is wished of the new instance.'),
    error: text('Why it was not rented, for programs.').optional(),
    msg: text('Why it was not rented, for people.').optional(),
  })
  .meta({ id: 'RentResult', description: 'What became of one offer.' })
type OfferResult = z.input<typeof offerResult>

const rentManyFields = {
  results: z.array(offerResult).describe('What became of each offer, in the order of the ids.'),
  created: z.array(integer('An instance.')).describe('The new instances.'),
  failed: z.array(integer('An offer.')).describe('The offers that were not rented.'),
}
const noneRented = failureBody
  .extend(rentManyFields)
  .meta({ id: 'NoneRented', description: 'No offer was rented, and why.' })

export const rentManyRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v0/asks/bulk/',
    operationId: 'rentOffers',
    tag: 'Instances',
    summary: 'Rent many offers',
    about: 'Rents offers alike, one after the other, each for itself.',
    operation: 'instances.rent',
    body: rentManyBody,
    takesIdempotencyKey: true,
    notIdempotent: true,
    result: z.object({
      success: z.literal(true).describe('Always true: at least one was rented.'),
      ...rentManyFields,
      elapsed: number('How long it took, in seconds.'),
    }),
    failures: [
      sharedFailures.InvalidArgs,
      ...idempotencyFailures,
      ...[sharedFailures.InvalidArgs, ...rentFailures].map(({ error, when }) => {
        return { status: 400, error, when: `${when} It is so for all.`, body: noneRented }
      }),
    ],
    answer: async ({ services, actor, body: { ids, ...body }, idempotencyKey }) => {
      if (!ids) throw new RestFailure(400, 'invalid_args', "error missings offer 'ids' parameter")
      const begun = performance.now()
      const wish = { offerIds: ids.map(BigInt), ...parseRentBody(body) }
      const renting = services.instances.rentMany(actor, wish, idempotencyKey)
      const rented = await renting.catch((error: unknown) => Promise.reject(renameIssuePaths(error, rentIssuePaths)))
      const outcome = summarizeRentals(rented)
      return { success: true as const, ...outcome, elapsed: Math.round(performance.now() - begun) / 1000 }
    },
  }),
]

function summarizeRentals(rented: RentOutcome[]) {
  const errors = rented.flatMap(one => ('error' in one ? renameRentIssues(one.error) : []))
  const results = rented.map(offerResultOf)
  const created = results.flatMap(({ new_contract }) => new_contract ?? [])
  const failed = results.filter(({ success }) => !success).map(({ ask_id }) => ask_id)
  const outcome = { results, created, failed }
  if (created.length > 0) return outcome
  const { error, msg } = itemFailureOf(combineErrors(errors))
  throw new RestFailure(400, error, msg, outcome)
}

function offerResultOf({ offerId, ...outcome }: RentOutcome): OfferResult {
  const ask_id = Number(offerId)
  if ('error' in outcome) return { ask_id, success: false, ...itemFailureOf(renameRentIssues(outcome.error)) }
  const { id, targetState } = outcome.rental.instance
  return { ask_id, success: true, new_contract: Number(id), state: targetState }
}

function renameRentIssues(error: DomainError): DomainError {
  return renameIssuePaths(error, rentIssuePaths)
}
