import { z } from 'zod'
import { DomainError } from '../../domain/errors.ts'
import type { RestartKind } from '../../domain/instances/states.ts'
import { idempotencyFailures } from '../failures.ts'
import { okResult } from '../results.ts'
import { type Route, route } from '../route.ts'
import { text } from '../values.ts'
import { instanceParams, insufficientCredit, noSuchInstance, quotaExceeded, startBackoff } from './responses.ts'

const notRestartedResult = z
  .object({
    success: z.literal(false).describe('Always false.'),
    error: z.literal('invalid_id').describe('Its state does not allow it.'),
    msg: text('Why not.'),
  })
  .meta({ id: 'NotRestarted', description: 'It goes on as it is. Clients look at `success`.' })

/** How what is refused begins, in the words that clients know. */
const messagePrefixes: Record<RestartKind, string> = {
  reboot: 'Invalid instance id. Is the container started?',
  recycle: 'Invalid instance id.',
}

function restartRoute(kind: RestartKind, summary: string, about: string): Route {
  return route({
    method: 'PUT',
    path: `/api/v0/instances/${kind}/{id}/`,
    operationId: `${kind}Instance`,
    tag: 'Instances',
    summary,
    about: `${about} Asked again before it runs again, it is done once.`,
    operation: `instances.${kind}`,
    params: instanceParams,
    takesIdempotencyKey: true,
    notIdempotent: true,
    result: z.union([okResult, notRestartedResult]),
    failures: [
      noSuchInstance,
      ...(kind === 'recycle' ? [insufficientCredit, quotaExceeded, startBackoff] : []),
      ...idempotencyFailures,
    ],
    answer: async ({ services, actor, params: { id }, idempotencyKey }) => {
      try {
        await services.instances[kind](actor, id, idempotencyKey)
        return { success: true as const }
      } catch (error) {
        if (!(error instanceof DomainError && error.code === 'INVALID_STATE')) throw error
        const msg = `${messagePrefixes[kind]} ${error.message}`
        return { success: false as const, error: 'invalid_id' as const, msg }
      }
    },
  })
}

export const instanceRestartRoutes: Route[] = [
  restartRoute(
    'reboot',
    'Reboot an instance',
    'Stops the container of a running instance, and starts it again. Its GPUs, its ports and its disk stay its own.',
  ),
  restartRoute(
    'recycle',
    'Make the container of an instance anew',
    'Removes the container of an instance, and makes it anew from its image. What is on its disk is lost, volumes stay; its GPUs and its ports stay its own, and it runs or is stopped as before.',
  ),
]
