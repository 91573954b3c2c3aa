import { z } from 'zod'
import type { InstanceAccessOperation, Operation } from '../domain/accounts/permissions/permissions.ts'
import { RestFailure } from './errors.ts'
import { instanceParams, noSuchInstance } from './instances/responses.ts'
import { okResult } from './results.ts'
import { type Failure, type Route, route } from './route.ts'

type NotOfferedDescription<Operation> = Pick<Route, 'method' | 'path' | 'operationId' | 'summary'> & {
  operation: Operation
  tag?: Route['tag']
  /** What to do instead. */
  instead: string
}

/** What clients may ask for, and Berth does not do: they are told so, and what to do instead. */
export function notOfferedRoute({ instead, ...facts }: NotOfferedDescription<Operation>): Route {
  return route({
    ...sharedDescription(facts, instead),
    answer: async () => {
      throw notImplemented(instead)
    },
  })
}

/** The same of an instance, which the path names. */
export function notOfferedInstanceRoute({ instead, ...facts }: NotOfferedDescription<InstanceAccessOperation>): Route {
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

function sharedDescription<Asked extends Operation>(
  facts: Omit<NotOfferedDescription<Asked>, 'instead'>,
  instead: string,
) {
  const failures: Failure[] = [{ status: 501, error: 'not_implemented', when: `Always. ${instead}` }]
  return {
    tag: 'Instances' as const,
    ...facts,
    about: `This is not offered. ${instead}`,
    ...(facts.method === 'GET' ? {} : { documentedBody: z.looseObject({}).describe('It is not read.') }),
    result: okResult.describe('Never answered.'),
    failures,
  }
}

/** Whether a route does something: some only say what to do instead. */
export function isOffered({ failures = [] }: Pick<Route, 'failures'>): boolean {
  return !failures.some(({ status }) => status === 501)
}

function notImplemented(instead: string): RestFailure {
  return new RestFailure(501, 'not_implemented', instead)
}
