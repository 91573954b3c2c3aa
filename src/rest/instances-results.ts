// What the routes of instances answer alike.

import { z } from 'zod'
import { failureBody } from './failures.ts'
import type { Failure } from './route.ts'
import { nothing, pathId, text } from './values.ts'

export const instanceParams = z.object({ id: pathId('The instance.') })

/** What a start answers that has to wait. It is a success of the request, and clients read it so. */
export const stateChangeQueued = {
  success: false as const,
  error: 'resources_unavailable' as const,
  msg: 'Required resources are currently unavailable, state change queued.',
}
export const queued = z
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
export const noCredit: Failure = {
  status: 400,
  error: 'insufficient_credit',
  when: 'The account has nothing left to spend.',
}
export const overLimit: Failure = {
  status: 400,
  error: 'spend_limit_exceeded',
  when: 'A spend limit of the account, or of the key that it counts for, does not allow it.',
}
export const neverAgain: Failure = {
  status: 400,
  error: 'invalid_state',
  when: 'It never runs again: destroy it and rent anew.',
}
