import { z } from 'zod'
import { type DomainError, renameIssues } from '../../domain/errors.ts'
import { maxOffersPerRequest, noneOfThem } from '../../domain/instances/rent/many.ts'
import { targetStates } from '../../domain/instances/states.ts'
import type { Rented } from '../../services/instances/rent/many.ts'
import { describe, RestFailure } from '../errors.ts'
import { failureBody, repeated, sharedFailures } from '../failures.ts'
import { type Route, route } from '../route.ts'
import { boolean, integer, number, text } from '../values.ts'
import { readRent, rentBody, rentNames } from './input.ts'
import { rentFailures } from './rent.ts'

const manyBody = rentBody.extend({
  ids: z
    .array(z.int().min(0))
    .optional()
    .describe(`The offers: at least one, at most ${maxOffersPerRequest}, counted with duplicates.`),
})

const result = z
  .object({
    ask_id: integer('The offer.'),
    success: boolean('Whether it was rented.'),
    new_contract: integer('The new instance, where it was.').optional(),
    state: z.enum(targetStates).optional().describe('What is wished of the new instance.'),
    error: text('Why it was not rented, for programs.').optional(),
    msg: text('Why it was not rented, for people.').optional(),
  })
  .meta({ id: 'RentResult', description: 'What became of one offer.' })
type Result = z.input<typeof result>

const outcomes = {
  results: z.array(result).describe('What became of each offer, in the order of the ids.'),
  created: z.array(integer('An instance.')).describe('The new instances.'),
  failed: z.array(integer('An offer.')).describe('The offers that were not rented.'),
}
const noneRented = failureBody.extend(outcomes).meta({ id: 'NoneRented', description: 'No offer was rented, and why.' })

export const rentManyRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v0/asks/bulk/',
    operationId: 'rentOffers',
    tag: 'Instances',
    summary: 'Rent many offers',
    about: 'Rents offers alike, one after the other, each for itself.',
    operation: 'instances.rent',
    body: manyBody,
    repeatable: true,
    countsTwice: true,
    result: z.object({
      success: z.literal(true).describe('Always true: at least one was rented.'),
      ...outcomes,
      elapsed: number('How long it took, in seconds.'),
    }),
    failures: [
      sharedFailures.InvalidArgs,
      ...repeated,
      ...[sharedFailures.InvalidArgs, ...rentFailures].map(({ error, when }) => {
        return { status: 400, error, when: `${when} It is so for all.`, body: noneRented }
      }),
    ],
    answer: async ({ services, actor, body: { ids, ...body }, idempotencyKey }) => {
      if (!ids) throw new RestFailure(400, 'invalid_args', "error missings offer 'ids' parameter")
      const begun = performance.now()
      const wish = { offerIds: ids.map(BigInt), ...readRent(body) }
      const renting = services.instances.rentMany(actor, wish, idempotencyKey)
      const rented = await renting.catch((error: unknown) => Promise.reject(renameIssues(error, rentNames)))
      const outcome = outcomeOf(rented)
      return { success: true as const, ...outcome, elapsed: Math.round(performance.now() - begun) / 1000 }
    },
  }),
]

function outcomeOf(rented: Rented[]) {
  const errors = rented.flatMap(one => ('error' in one ? inWords(one.error) : []))
  const results = rented.map(resultOf)
  const created = results.flatMap(({ new_contract }) => new_contract ?? [])
  const failed = results.filter(({ success }) => !success).map(({ ask_id }) => ask_id)
  const outcome = { results, created, failed }
  if (created.length > 0) return outcome
  const { error, msg } = describe(noneOfThem(errors))
  throw new RestFailure(400, error, msg, outcome)
}

function resultOf({ offerId, ...outcome }: Rented): Result {
  const ask_id = Number(offerId)
  if ('error' in outcome) return { ask_id, success: false, ...describe(inWords(outcome.error)) }
  const { id, targetState } = outcome.rental.instance
  return { ask_id, success: true, new_contract: Number(id), state: targetState }
}

function inWords(error: DomainError): DomainError {
  return renameIssues(error, rentNames)
}
