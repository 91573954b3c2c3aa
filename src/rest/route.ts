import type { z } from 'zod'
import type { Operation } from '../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../domain/actor.ts'
import type { Services } from '../services/services.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The tags that group routes in the OpenAPI document. */
export const tags = {
  Account: 'The account that the key belongs to.',
  Billing: 'Credit that was granted and spent.',
  Instances: 'Rented instances, and how to rent them.',
  Interface: 'The documentation of this interface.',
  Keys: 'API keys, SSH keys, and secrets for instances.',
  Machines: 'The machines of a host.',
  Offers: 'Offers on the market and their prices.',
  Templates: 'Saved settings for rentals.',
  Volumes: 'Disks that outlive instances.',
}
type Tag = keyof typeof tags

/** A failure that a route may answer: its status, the code in `error`, and when that happens. */
export type DocumentedFailure = {
  status: number
  error: string
  when: string
  /** The body's schema, if it has more fields than `failureBody`. */
  body?: z.ZodType
}

/** The declared part of a route. Requests are parsed by it, and the OpenAPI document is printed from it. */
type RouteDescription<Params, Query, Body, Result> = {
  method: Method
  /** Ends in a slash, though both forms are served. Parameters are in braces: /api/v0/instances/{id}/ */
  path: string
  /** Unique among all routes: generated clients name their functions after it. */
  operationId: string
  tag: Tag
  summary: string
  about: string
  params?: Params
  query?: Query
  body?: Body
  /** Body fields in which "" is a value. In all others "" counts as absent, as clients mean it. */
  emptyStringFields?: readonly string[]
  /** The documented schema of a body that `answer` parses, since it accepts more than a schema can. */
  documentedBody?: z.ZodType
  /** Whether the route accepts the header Idempotency-Key. Requests with the same key run once. */
  takesIdempotencyKey?: boolean
  /**
   * Whether a repeated request does more than the first, or is refused because of it. An uncertain outcome must then be
   * 409, never a status that clients retry.
   */
  notIdempotent?: boolean
  /** Whether the route needs no key, unless the operator sets PUBLIC_SEARCH to false. Only for operations that `anonymousActor` may do. */
  publicSearch?: boolean
  /** How many changes the request makes. By default one, and none for a GET and a search. */
  changes?(input: ParsedInput<Params, Query, Body>): number
  /** The most rows of an answer, where the request limits them. */
  maxRows?(input: ParsedInput<Params, Query, Body>): number
  /** Whether the answer may come from a replica. Its header Age then says how many seconds old it may be. */
  mayBeStale?: boolean
  /** Whether `answer` returns the same to every caller while the process lives. It is then called once. */
  isFixed?: boolean
  /** The content type of a 200 that is not JSON. `answer` returns its text. */
  produces?: 'text/plain' | 'text/html'
  /** The hash of the only script that browsers may run in that answer. By default they run none. */
  scriptHash?: string
  /** The schema of a 200. */
  result: Result
  /** What the documentation shows: a request, and what the answer has instead of the values of page/sample-values.ts. */
  example?: { query?: Record<string, string>; body?: unknown; answer?: unknown }
  /** The failures of this route. Those that routes share are in documented-failures.ts. */
  failures?: DocumentedFailure[]
}

/** A parsed request. A part without a schema is as the client sent it. */
type ParsedInput<Params, Query, Body> = { params: z.output<Params>; query: z.output<Query>; body: z.output<Body> }

type RouteInput<Params, Query, Body> = ParsedInput<Params, Query, Body> & {
  services: Services
  /** From the header. Undefined if it is absent or the route does not take one. */
  idempotencyKey: string | undefined
  /** The origin that the client used: https://berth.example.com */
  origin: string
}

type RouteDefinition<Params, Query, Body, Result> = RouteDescription<Params, Query, Body, Result> &
  (
    | {
        open?: false
        operation: Operation
        answer(input: RouteInput<Params, Query, Body> & { actor: Actor }): Promise<z.input<Result>>
      }
    | { open: true; answer(input: RouteInput<Params, Query, Body>): Promise<z.input<Result>> }
  )

/** A route needs a key that may do `operation`, unless it is `open`. */
export type Route = RouteDescription<z.ZodType, z.ZodType, z.ZodType, z.ZodType> & {
  open?: boolean
  operation?: Operation
  // A method, not a property: TypeScript then accepts a definition with a narrower input.
  answer(input: RouteInput<z.ZodType, z.ZodType, z.ZodType> & { actor?: Actor | undefined }): Promise<unknown>
}

type UnparsedInput = z.ZodType<Record<string, unknown>>

/** Defines a route. The schemas type the input and the result of `answer`. */
export function route<
  Result extends z.ZodType,
  Params extends z.ZodType = UnparsedInput,
  Query extends z.ZodType = UnparsedInput,
  Body extends z.ZodType = UnparsedInput,
>(definition: RouteDefinition<Params, Query, Body, Result>): Route {
  return definition
}
