import { z } from 'zod'
import { DomainError } from '../../domain/errors.ts'
import type { RestartKind } from '../../domain/instances/states.ts'
import { idempotencyFailures } from '../documented-failures.ts'
import { isInstanceGone } from '../errors.ts'
import { okResult } from '../results.ts'
import { type Route, route } from '../route.ts'
import { text } from '../values.ts'
import { instanceParams, insufficientCredit, noSuchInstance, quotaExceeded, startBackoff } from './responses.ts'

const notRestartedResult = z
  .object({
    success: z.literal(false).describe('Always false.'),
    error: z.literal('invalid_id').describe('The state of the instance does not allow a restart.'),
    msg: text('Why the instance is not restarted.'),
  })
  .meta({ id: 'NotRestarted', description: 'The instance is not restarted. Clients check `success`.' })

/** How the message of a refusal begins, in the wording that clients expect. */
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
    about: `${about} Repeated requests cause only one restart until the instance runs again.`,
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
        if (!(error instanceof DomainError && error.code === 'INVALID_STATE') || isInstanceGone(error)) throw error
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
    'Stops the container of a running instance and starts it again. The instance keeps its GPUs, ports and disk.',
  ),
  restartRoute(
    'recycle',
    'Recreate the container of an instance',
    'Removes the container of an instance and creates it again from its image. The disk is erased, and volumes stay. The instance keeps its GPUs, ports and target state.',
  ),
]
