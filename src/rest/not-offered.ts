import { z } from 'zod'
import { notFound } from '../domain/errors.ts'
import type { WayToAnInstance } from '../domain/permissions.ts'
import { RestFailure } from './errors.ts'
import { done, instanceParams, noSuchInstance } from './instances-results.ts'
import { type Route, route } from './route.ts'

type Facts = Pick<Route, 'method' | 'path' | 'operationId' | 'tag' | 'summary'> & {
  operation: WayToAnInstance
  /** Why not, and what to do instead. */
  instead: string
}

/** What clients may ask of an instance, and Berth does not do: they are told so, and what to do instead. */
export function notOffered({ instead, operation, ...facts }: Facts): Route {
  return route({
    ...facts,
    operation,
    about: `This is not offered. ${instead}`,
    params: instanceParams,
    ...(facts.method === 'GET' ? {} : { documentedBody: z.looseObject({}).describe('It is not read.') }),
    result: done.describe('Never answered.'),
    failures: [{ status: 501, error: 'not_implemented', when: `Always. ${instead}` }, noSuchInstance],
    answer: async ({ services, actor, params: { id } }) => {
      const [instance] = await services.instances.byIds(actor, [id], operation)
      if (!instance || instance.destroyedAt) throw notFound('Instance', id)
      throw new RestFailure(501, 'not_implemented', instead)
    },
  })
}
