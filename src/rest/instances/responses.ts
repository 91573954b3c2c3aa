// What the routes of instances answer alike.

import { z } from 'zod'
import { answers } from '../error-codes.ts'
import { quotaWireNames } from '../errors.ts'
import { failureBody } from '../failures.ts'
import type { Failure } from '../route.ts'
import { alwaysNull, number, pathId, text } from '../values.ts'

export const instanceParams = z.object({ id: pathId('The instance.') })

/** What a start answers that has to wait. It is a success of the request, and clients read it so. */
export const stateChangeQueued = {
  success: false as const,
  error: 'resources_unavailable' as const,
  msg: 'Required resources are currently unavailable, state change queued.',
}
export const queuedResult = z
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
    .extend({ instances: alwaysNull('Always null, for clients that look at nothing else.') })
    .meta({ id: 'NoSuchInstance', description: 'There is no such instance.' }),
}
export const insufficientCredit: Failure = {
  ...answers.INSUFFICIENT_CREDIT,
  when: 'The account has less credit than this needs: everything for a minimum time, and then its disks through the grace period.',
  body: failureBody
    .extend({
      needed: number('The credit that it needs, in $. Absent when the account has none at all.').optional(),
      available: number('The credit that the account has, in $.').optional(),
    })
    .meta({ id: 'InsufficientCredit', description: 'The account has less credit than this needs.' }),
}
export const quotaExceeded: Failure = {
  ...answers.QUOTA_EXCEEDED,
  when: 'The account may not have more of something. Its operator can raise the quota.',
  body: failureBody
    .extend({
      quota: z.enum(Object.values(quotaWireNames)).describe('Of what.'),
      limit: number('The most that the account may have.'),
      used: number('What it has, without what was asked for.'),
      asked: number('What was asked for.'),
    })
    .meta({ id: 'QuotaExceeded', description: 'The account may not have more of something.' }),
}
export const startBackoff: Failure = {
  ...answers.START_BACKOFF,
  when: 'Too many starts in a row failed, or were given up before they ran. The next one must wait.',
  body: failureBody
    .extend({ retry_after: number('When the next one may start, in seconds since 1970.') })
    .meta({ id: 'StartBackoff', description: 'The next start must wait.' }),
}
export const spendLimitExceeded: Failure = {
  ...answers.SPEND_LIMIT_EXCEEDED,
  when: 'A spend limit of the account, or of the key that it counts for, does not allow it.',
}
export const finalInstance: Failure = {
  ...answers.INVALID_STATE,
  when: 'It never runs again: destroy it and rent anew.',
}
