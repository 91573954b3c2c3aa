import { z } from 'zod'
import { DomainError, renameIssuePaths } from '../../domain/errors.ts'
import { maxIdsPerCommand } from '../../domain/instances/command.ts'
import { nanosOfNumber } from '../../domain/money.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { okResult } from '../results.ts'
import { type Route, route } from '../route.ts'
import { restLimit, rewordCommand, updateInstance } from './instances.ts'
import {
  finalInstance,
  insufficientCredit,
  noSuchInstance,
  instanceParams as params,
  queuedResult,
  quotaExceeded,
  spendLimitExceeded,
  startBackoff,
} from './responses.ts'

/** Some clients start and stop instances through these paths. */
function stateRoute(verb: 'start' | 'stop', targetState: 'running' | 'stopped'): Route {
  return route({
    method: 'PUT',
    path: `/api/v0/instances/{id}/${verb}/`,
    operationId: `${verb}Instance`,
    tag: 'Instances',
    summary: verb === 'start' ? 'Start an instance' : 'Stop an instance',
    about: `Does the same as an update with the state ${targetState}.`,
    operation: 'instances.update',
    params,
    result: z.union([okResult, queuedResult]),
    failures: [
      noSuchInstance,
      ...(verb === 'start' ? [finalInstance, insufficientCredit, spendLimitExceeded, quotaExceeded, startBackoff] : []),
    ],
    answer: async ({ services, actor, params: { id } }) =>
      await updateInstance({ services, actor }, id, { targetState }),
  })
}

const destroyBody = z.object({
  instance_ids: z
    .array(z.int().min(0))
    .optional()
    .describe(`IDs of the instances: 1 to ${maxIdsPerCommand}, duplicates included.`),
})

const priceBody = z.object({
  price: z
    .number()
    .optional()
    .describe(
      'Bid for all GPUs of the instance, in US dollars per hour. Defaults to the lowest bid that wins them now.',
    ),
})

export const instanceActionRoutes: Route[] = [
  stateRoute('start', 'running'),
  stateRoute('stop', 'stopped'),
  route({
    method: 'DELETE',
    path: '/api/v0/instances/',
    operationId: 'destroyInstances',
    tag: 'Instances',
    summary: 'Destroy many instances',
    about: 'Destroys instances. Their charges end at once, and their disks are deleted. Unknown ids are ignored.',
    operation: 'instances.destroy',
    body: destroyBody,
    example: { body: { instance_ids: [42, 43] } },
    result: okResult,
    failures: [
      {
        status: 404,
        error: 'instances_not_found',
        when: 'The account has none of the instances, or all of them are already destroyed.',
      },
    ],
    answer: async ({ services, actor, body: { instance_ids: ids = [] } }) => {
      if (ids.length === 0) throw new RestFailure(400, 'invalid_args', 'instance_ids array is required')
      const destroying = services.instances.destroy(actor, { ids: ids.map(BigInt) }, restLimit)
      const steps = await rewordCommand(ids, undefined, destroying)
      if (steps.some(({ outcome }) => outcome === 'applied')) return { success: true as const }
      throw new RestFailure(404, 'instances_not_found', `Instances ${ids.join(', ')} not found.`)
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v0/instances/bid_price/{id}/',
    operationId: 'changeBid',
    tag: 'Instances',
    summary: 'Change the bid of an instance',
    about: 'Changes the bid for the GPUs of an instance. The instance may win or lose them at once.',
    operation: 'instances.changeBid',
    params,
    body: priceBody,
    example: { body: { price: 0.45 } },
    result: okResult,
    failures: [
      noSuchInstance,
      documentedFailureOf('BID_TOO_LOW', 'The bid is below the minimum of the host.'),
      documentedFailureOf('INVALID_STATE', 'The instance can never run again, or no bid wins its GPUs now.'),
      insufficientCredit,
      spendLimitExceeded,
      quotaExceeded,
      startBackoff,
    ],
    answer: async ({ services, actor, params: { id }, body: { price } }) => {
      const bid = price === undefined ? undefined : nanosOfNumber(price)
      await services.instances
        .updateBid(actor, id, bid)
        .catch((error: unknown) => Promise.reject(translateBidRefusal(error)))
      return { success: true as const }
    },
  }),
]

/** Rewrites the refusal of a bid in the wording that clients expect. */
function translateBidRefusal(error: unknown): unknown {
  if (error instanceof DomainError && error.code === 'INVALID_STATE' && error.details.cause === 'fixedPrice') {
    return new RestFailure(400, 'invalid_args', "Can't change price of on-demand contract.")
  }
  return renameIssuePaths(error, { bid: 'price' })
}
