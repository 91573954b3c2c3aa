import type { Actor } from '../domain/actor.ts'
import type { Services } from '../services/services.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** What a route is given: everything of the request that it may need, already read. */
export type RouteInput = {
  services: Services
  actor: Actor
  query: URLSearchParams
  /** Undefined when there was none. */
  body: Record<string, unknown> | undefined
}

/** A route is a value. What it answers is printed as JSON. Routes that are `open` need no key. */
export type Route = { method: Method; path: string; about: string } & (
  | { open?: false; answer: (input: RouteInput) => Promise<unknown> }
  | { open: true; answer: (input: Omit<RouteInput, 'actor'>) => Promise<unknown> }
)
