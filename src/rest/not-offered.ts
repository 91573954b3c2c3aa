import { z } from 'zod'
import type { Operation, WayToAnInstance } from '../domain/accounts/permissions/permissions.ts'
import { RestFailure } from './errors.ts'
import { instanceParams, noSuchInstance } from './instances/answers.ts'
import { type Failure, type Route, route } from './route.ts'
import { done } from './success.ts'

type Facts<Operation> = Pick<Route, 'method' | 'path' | 'operationId' | 'summary'> & {
  operation: Operation
  tag?: Route['tag']
  /** What to do instead. */
  instead: string
}

/** What clients may ask for, and Berth does not do: they are told so, and what to do instead. */
export function notOffered({ instead, ...facts }: Facts<Operation>): Route {
  return route({
    ...shared(facts, instead),
    answer: async () => {
      throw refusal(instead)
    },
  })
}

/** The same of an instance, which the path names. */
export function notOfferedFor({ instead, ...facts }: Facts<WayToAnInstance>): Route {
  const { failures, ...more } = shared(facts, instead)
  return route({
    ...more,
    params: instanceParams,
    failures: [...failures, noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      await services.instances.living(actor, id, facts.operation)
      throw refusal(instead)
    },
  })
}

function shared<Asked extends Operation>(facts: Omit<Facts<Asked>, 'instead'>, instead: string) {
  const failures: Failure[] = [{ status: 501, error: 'not_implemented', when: `Always. ${instead}` }]
  return {
    tag: 'Instances' as const,
    ...facts,
    about: `This is not offered. ${instead}`,
    ...(facts.method === 'GET' ? {} : { documentedBody: z.looseObject({}).describe('It is not read.') }),
    result: done.describe('Never answered.'),
    failures,
  }
}

/** Whether a route does something: some only say what to do instead. */
export function isOffered({ failures = [] }: Pick<Route, 'failures'>): boolean {
  return !failures.some(({ status }) => status === 501)
}

function refusal(instead: string): RestFailure {
  return new RestFailure(501, 'not_implemented', instead)
}
