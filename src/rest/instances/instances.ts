import { z } from 'zod'
import type { Actor } from '../../domain/actor.ts'
import { type ErrorCode, instanceDestroyed } from '../../domain/errors.ts'
import type { InstanceChange } from '../../domain/instances/actions.ts'
import { type ItemPlan, maxIdsPerCommand } from '../../domain/instances/command.ts'
import { isWaitingForGpus } from '../../domain/instances/instances.ts'
import type { Services } from '../../services/services.ts'
import { isInstanceGone, RestFailure } from '../errors.ts'
import { okResult } from '../results.ts'
import { rewordRefusals } from '../rewording.ts'
import { type Route, route } from '../route.ts'
import { boolean, integer } from '../values.ts'
import { bulkUpdateBody, parseUpdateBody, updateBody } from './input.ts'
import { measuredRows } from './measured.ts'
import {
  finalInstance,
  insufficientCredit,
  noSuchInstance,
  instanceParams as params,
  queuedResult,
  quotaExceeded,
  spendLimitExceeded,
  startBackoff,
  stateChangeQueued,
} from './responses.ts'
import { type InstanceRow, instanceRowSchema } from './row.ts'

const path = '/api/v0/instances/{id}/'
/** Enough for most accounts. GraphQL lists more in pages. */
const maxRows = 5_000
export const restLimit = { limit: maxIdsPerCommand }

export const instanceReadRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/instances/',
    operationId: 'listInstances',
    tag: 'Instances',
    summary: 'List the instances',
    about: `Lists the account's instances that are not destroyed, newest first, at most ${maxRows}.`,
    operation: 'instances.list',
    result: z.object({
      instances_found: integer('Number of instances in the list.'),
      instances: z.array(instanceRowSchema).describe('The instances.'),
    }),
    answer: async ({ services, actor }) => {
      const instances = await services.instances.list(actor, maxRows)
      return { instances_found: instances.length, instances: await measuredRows({ services, actor }, instances) }
    },
  }),
  route({
    method: 'GET',
    path,
    operationId: 'getInstance',
    tag: 'Instances',
    summary: 'Get an instance',
    about: 'Returns an instance that is not destroyed.',
    operation: 'instances.get',
    params,
    result: z.object({ instances: instanceRowSchema.describe('The instance.') }),
    failures: [noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      const [row] = await measuredRows({ services, actor }, [await services.instances.findLiving(actor, id)])
      return { instances: row as InstanceRow }
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v0/instances/',
    operationId: 'updateInstances',
    tag: 'Instances',
    summary: 'Update many instances',
    about: 'Starts, stops or labels many instances. Each one succeeds or fails independently.',
    operation: 'instances.update',
    body: bulkUpdateBody,
    emptyStringFields: ['label'],
    example: { body: { ids: [42, 43], state: 'stopped' } },
    result: z.object({ success: boolean('Whether at least one instance was updated or was already as requested.') }),
    failures: [
      { status: 404, error: 'invalid_args', when: 'The account has none of the instances.' },
      insufficientCredit,
      spendLimitExceeded,
      quotaExceeded,
      startBackoff,
    ],
    answer: async ({ services, actor, body: { ids = [], ...change } }) => {
      const wanted = parseUpdateBody(change)
      const updating = services.instances.update(actor, { ids: ids.map(BigInt) }, wanted, restLimit)
      const steps = await rewordCommand(ids, wanted, updating)
      return { success: summarizeBulk(steps) }
    },
  }),
  route({
    method: 'PUT',
    path,
    operationId: 'updateInstance',
    tag: 'Instances',
    summary: 'Update an instance',
    about: 'Starts, stops or labels an instance.',
    operation: 'instances.update',
    params,
    body: updateBody,
    emptyStringFields: ['label'],
    example: { body: { state: 'stopped', label: 'first' } },
    result: z.union([okResult, queuedResult]),
    failures: [noSuchInstance, finalInstance, insufficientCredit, spendLimitExceeded, quotaExceeded, startBackoff],
    answer: async ({ services, actor, params: { id }, body }) =>
      await updateInstance({ services, actor }, id, parseUpdateBody(body)),
  }),
  route({
    method: 'DELETE',
    path,
    operationId: 'destroyInstance',
    tag: 'Instances',
    summary: 'Destroy an instance',
    about: 'Destroys an instance. Its charges end at once, and its disk is deleted.',
    operation: 'instances.destroy',
    params,
    result: okResult,
    failures: [noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      const [step] = await services.instances.destroy(actor, { ids: [id] })
      if (step?.outcome === 'failed') throw step.error
      if (step?.outcome !== 'applied') throw instanceDestroyed(id)
      return { success: true as const }
    },
  }),
]

const waitingSelect = { targetState: true, status: true, destroyedAt: true, holdsGpus: true } as const

type Caller = { services: Services; actor: Actor }

/** Changes one instance. A start that must wait for GPUs is accepted too, but its answer has `success: false`. */
export async function updateInstance({ services, actor }: Caller, id: bigint, change: InstanceChange) {
  const [step] = await rewordCommand([Number(id)], change, services.instances.update(actor, { ids: [id] }, change))
  if (step?.outcome === 'failed') throw step.error
  const [instance] = await services.instances.byIds(actor, [id], waitingSelect, 'instances.update')
  const queues = change.targetState === 'running' && instance && isWaitingForGpus(instance)
  return queues ? stateChangeQueued : { success: true as const }
}

/** Refuses a command as clients know it. `change` is undefined for a destruction. */
export async function rewordCommand<Result>(
  ids: readonly number[],
  change: InstanceChange | undefined,
  answering: Promise<Result>,
): Promise<Result> {
  const changesNothing = change && change.targetState === undefined && change.label === undefined
  return await rewordRefusals(answering, ({ code, details }) => {
    if (code !== 'INVALID_INPUT') return undefined
    const isAboutIds = details.issues[0]?.path === 'ids'
    if (isAboutIds && ids.length === 0) return [400, 'invalid_args', 'ids list required']
    if (isAboutIds) return [400, 'invalid_args', `chunk length of ${ids.length} > ${maxIdsPerCommand}`]
    return changesNothing ? [400, 'invalid_args', 'The request changes nothing: give a state or a label.'] : undefined
  })
}

const accountErrorCodes: readonly ErrorCode[] = ['INSUFFICIENT_CREDIT', 'QUOTA_EXCEEDED', 'START_BACKOFF']

/** The `success` of a bulk update. The update fails only if no instance was found, or if the account may start none. */
function summarizeBulk(steps: ItemPlan[]): boolean {
  if (steps.every(step => step.outcome === 'failed' && isInstanceGone(step.error))) {
    throw new RestFailure(404, 'invalid_args', 'Invalid instance ID list ids.')
  }
  if (steps.some(({ outcome }) => outcome === 'applied' || outcome === 'unchanged')) return true
  // As for a single instance, the answer is then the reason why the account may not start it.
  const refusal = steps.find(step => step.outcome === 'failed' && accountErrorCodes.includes(step.error.code))
  if (refusal?.outcome === 'failed') throw refusal.error
  return false
}
