import { z } from 'zod'
import type { Operation } from '../domain/permissions.ts'
import { RestFailure } from './errors.ts'
import { type Route, route } from './route.ts'

type Facts = Pick<Route, 'method' | 'path' | 'operationId' | 'tag' | 'summary'> & {
  /** What a key would need. */
  operation: Operation
  /** What to do instead, as a sentence. */
  instead: string
}

/** A route of something that is known to clients, and that Berth does not do. It says so instead of pretending. */
export function notServed({ operation, instead, ...facts }: Facts): Route {
  const msg = `This is not done here. ${instead}`
  return route({
    ...facts,
    operation,
    about: msg,
    result: z.never().describe('It never works.'),
    failures: [{ status: 501, error: 'not_implemented', when: msg }],
    answer: async () => {
      throw new RestFailure(501, 'not_implemented', msg)
    },
  })
}
