import { z } from 'zod'
import { notFound } from '../domain/errors.ts'
import { isWaiting } from '../domain/instances.ts'
import type { Step } from '../domain/instances-command.ts'
import { RestFailure } from './errors.ts'
import { failureBody } from './failures.ts'
import { bulkBody, updateBody } from './instances-input.ts'
import { instanceRow } from './instances-present.ts'
import { instanceRowSchema } from './instances-row.ts'
import { type Failure, type Route, route } from './route.ts'
import { boolean, integer, nothing, pathId, text } from './values.ts'

const path = '/api/v0/instances/{id}/'
const params = z.object({ id: pathId('The instance.') })
/** Enough for most; a list that is longer is read in pages over GraphQL. */
const maxRows = 5_000

const done = z
  .object({ success: z.literal(true).describe('Always true.') })
  .meta({ id: 'Done', description: 'It was done.' })

/** What a start answers that has to wait. It is a success of the request, and clients read it so. */
const stateChangeQueued = {
  success: false as const,
  error: 'resources_unavailable' as const,
  msg: 'Required resources are currently unavailable, state change queued.',
}
const queued = z
  .object({
    success: z.literal(false).describe('Always false.'),
    error: z.literal('resources_unavailable').describe('The GPUs are taken.'),
    msg: text('That the instance starts when they are free.'),
  })
  .meta({ id: 'StateChangeQueued', description: 'It is to run, and waits for its GPUs.' })

export const noSuchInstance: Failure = {
  status: 404,
  error: 'no_such_instance',
  when: 'There is no such instance, or it is not yours, or it was destroyed.',
  body: failureBody
    .extend({ instances: nothing('Always null, for clients that look at nothing else.') })
    .meta({ id: 'NoSuchInstance', description: 'There is no such instance.' }),
}
const noCredit: Failure = { status: 400, error: 'insufficient_credit', when: 'The account has nothing left to spend.' }
export const instanceRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/instances/',
    operationId: 'listInstances',
    tag: 'Instances',
    summary: 'List the instances',
    about: `The account's instances that were not destroyed, the newest first, at most ${maxRows}.`,
    operation: 'instances.list',
    result: z.object({
      instances_found: integer('How many there are in the list.'),
      instances: z.array(instanceRowSchema).describe('The instances.'),
    }),
    answer: async ({ services, actor }) => {
      const instances = await services.instances.list(actor, maxRows)
      return { instances_found: instances.length, instances: instances.map(instanceRow) }
    },
  }),
  route({
    method: 'GET',
    path,
    operationId: 'getInstance',
    tag: 'Instances',
    summary: 'Get an instance',
    about: 'One instance, as long as it was not destroyed.',
    operation: 'instances.get',
    params,
    result: z.object({ instances: instanceRowSchema.describe('The instance.') }),
    failures: [noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      const [instance] = await services.instances.byIds(actor, [id])
      if (!instance || instance.destroyedAt) throw notFound('Instance', id)
      return { instances: instanceRow(instance) }
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v0/instances/',
    operationId: 'updateInstances',
    tag: 'Instances',
    summary: 'Update many instances',
    about: 'Starts, stops or labels many instances, each for itself.',
    operation: 'instances.update',
    body: bulkBody,
    result: z.object({ success: boolean('Whether at least one was updated, or was so already.') }),
    failures: [
      { status: 404, error: 'invalid_args', when: 'None of the instances exists, or none is yours.' },
      noCredit,
    ],
    answer: async ({ services, actor, body: { ids = [], state, label } }) => {
      const change = { targetState: state, label }
      const steps = await services.instances.update(actor, ids.map(BigInt), change)
      return { success: successOf(steps) }
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
    result: z.union([done, queued]),
    failures: [
      noSuchInstance,
      { status: 400, error: 'invalid_state', when: 'It never runs again: destroy it and rent anew.' },
      noCredit,
    ],
    answer: async ({ services, actor, params: { id }, body: { state, label } }) => {
      const change = { targetState: state, label }
      const [step] = await services.instances.update(actor, [id], change)
      if (step?.outcome === 'failed') throw step.error
      const [instance] = await services.instances.byIds(actor, [id], 'instances.update')
      const queues = state === 'running' && instance && isWaiting(instance)
      return queues ? stateChangeQueued : { success: true as const }
    },
  }),
  route({
    method: 'DELETE',
    path,
    operationId: 'destroyInstance',
    tag: 'Instances',
    summary: 'Destroy an instance',
    about: 'Ends the rental: its charges at once, and its disk for good.',
    operation: 'instances.destroy',
    params,
    result: done,
    failures: [noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      const [step] = await services.instances.destroy(actor, [id])
      if (step?.outcome === 'failed') throw step.error
      if (step?.outcome !== 'applied') throw notFound('Instance', id)
      return { success: true as const }
    },
  }),
]

/** The answer of a bulk update: nothing found is a failure, nothing done is not. */
function successOf(steps: Step[]): boolean {
  if (steps.every(step => step.outcome === 'failed' && step.error.code === 'NOT_FOUND')) {
    throw new RestFailure(404, 'invalid_args', 'Invalid instance ID list ids.')
  }
  return steps.some(({ outcome }) => outcome === 'applied' || outcome === 'unchanged')
}
