import { z } from 'zod'
import type { InstanceAccessOperation, Operation } from '../domain/accounts/permissions/permissions.ts'
import { RestFailure } from './errors.ts'
import { instanceParams, noSuchInstance } from './instances/responses.ts'
import { okResult } from './results.ts'
import { type DocumentedFailure, type Route, route } from './route.ts'

type NotImplementedDescription<Operation> = Pick<Route, 'method' | 'path' | 'operationId' | 'summary'> & {
  operation: Operation
  tag?: Route['tag']
  /** What to do instead. */
  instead: string
}

/** A route that clients know and Berth does not implement. It answers 501 and says what to do instead. */
export function notImplementedRoute({ instead, ...facts }: NotImplementedDescription<Operation>): Route {
  return route({
    ...sharedDescription(facts, instead),
    answer: async () => {
      throw notImplemented(instead)
    },
  })
}

/** Like `notImplementedRoute`, for a path with an instance, which must exist. */
export function notImplementedInstanceRoute({
  instead,
  ...facts
}: NotImplementedDescription<InstanceAccessOperation>): Route {
  const { failures, ...more } = sharedDescription(facts, instead)
  return route({
    ...more,
    params: instanceParams,
    failures: [...failures, noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      await services.instances.findLiving(actor, id, facts.operation)
      throw notImplemented(instead)
    },
  })
}

function sharedDescription<RouteOperation extends Operation>(
  facts: Omit<NotImplementedDescription<RouteOperation>, 'instead'>,
  instead: string,
) {
  const failures: DocumentedFailure[] = [{ status: 501, error: 'not_implemented', when: `Always. ${instead}` }]
  return {
    tag: 'Instances' as const,
    ...facts,
    about: `Berth does not offer this. ${instead}`,
    ...(facts.method === 'GET' ? {} : { documentedBody: z.looseObject({}).describe('Berth ignores the body.') }),
    result: okResult.describe('Never returned.'),
    failures,
  }
}

/** Whether a route does something, and not only says what to do instead. */
export function isImplemented({ failures = [] }: Pick<Route, 'failures'>): boolean {
  return !failures.some(({ status }) => status === 501)
}

function notImplemented(instead: string): RestFailure {
  return new RestFailure(501, 'not_implemented', instead)
}
