// Answers that instance routes share.

import { z } from 'zod'
import { failureBody } from '../documented-failures.ts'
import { restErrors } from '../error-codes.ts'
import { quotaWireNames } from '../errors.ts'
import type { DocumentedFailure } from '../route.ts'
import { alwaysNull, number, pathId, text } from '../values.ts'

export const instanceParams = z.object({ id: pathId('ID of the instance.') })

/** The answer to a start that must wait for GPUs. Its status is 200, since the request is accepted. */
export const stateChangeQueued = {
  success: false as const,
  error: 'resources_unavailable' as const,
  msg: 'Required resources are currently unavailable, state change queued.',
}
export const queuedResult = z
  .object({
    success: z.literal(false).describe('Always false.'),
    error: z.literal('resources_unavailable').describe('The GPUs are in use.'),
    msg: text('Message that the start is queued.'),
  })
  .meta({ id: 'StateChangeQueued', description: 'The instance starts when its GPUs are free.' })

export const noSuchInstance: DocumentedFailure = {
  status: 404,
  error: 'no_such_instance',
  when: 'The instance does not exist, belongs to another account or was destroyed.',
  body: failureBody
    .extend({ instances: alwaysNull('Always null, for clients that read only this field.') })
    .meta({ id: 'NoSuchInstance', description: 'The failure when an instance is not found.' }),
}
export const insufficientCredit: DocumentedFailure = {
  ...restErrors.INSUFFICIENT_CREDIT,
  when: 'The account lacks credit. Credit must cover all costs for a minimum time, and then the disks through the grace period.',
  body: failureBody
    .extend({
      needed: number('Credit that the request needs, in US dollars. Absent if the account has no credit.').optional(),
      available: number('Credit of the account, in US dollars. Absent if the account has no credit.').optional(),
    })
    .meta({ id: 'InsufficientCredit', description: 'The failure when the account lacks credit.' }),
}
export const quotaExceeded: DocumentedFailure = {
  ...restErrors.QUOTA_EXCEEDED,
  when: 'The request exceeds a quota of the account, which the operator can raise.',
  body: failureBody
    .extend({
      quota: z.enum(Object.values(quotaWireNames)).describe('Name of the quota.'),
      limit: number('Maximum for the account.'),
      used: number('Current use, without the request.'),
      asked: number('Amount that the request adds.'),
    })
    .meta({ id: 'QuotaExceeded', description: 'The failure when a request exceeds a quota of the account.' }),
}
export const startBackoff: DocumentedFailure = {
  ...restErrors.START_BACKOFF,
  when: 'Too many consecutive starts failed or were canceled. The next start must wait.',
  body: failureBody
    .extend({ retry_after: number('Time from which the next start is allowed, in seconds since 1970.') })
    .meta({ id: 'StartBackoff', description: 'The failure when the next start must wait.' }),
}
export const spendLimitExceeded: DocumentedFailure = {
  ...restErrors.SPEND_LIMIT_EXCEEDED,
  when: 'The request exceeds a spend limit of the account or of the API key that pays.',
}
export const finalInstance: DocumentedFailure = {
  ...restErrors.INVALID_STATE,
  when: 'The instance can never run again. Destroy it and rent another one.',
}
