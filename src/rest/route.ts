import type { z } from 'zod'
import type { Operation } from '../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../domain/actor.ts'
import type { Services } from '../services/services.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The headings that the document sorts routes under. */
export const tags = {
  Account: 'Who the key belongs to.',
  Billing: 'What was granted and spent.',
  Instances: 'What is rented, and how to rent it.',
  Interface: 'What describes this interface.',
  Keys: 'Keys of this interface, keys that log in to instances, and secrets that instances get.',
  Machines: 'What hosts have on the market.',
  Offers: 'What is on the market, and what it costs.',
  Templates: 'Settings to begin rentals with.',
  Volumes: 'Disks that outlive instances.',
}
type Tag = keyof typeof tags

/** A failure that a route may answer: its status, the code in `error`, and when that happens. */
export type Failure = {
  status: number
  error: string
  when: string
  /** For a body with more than every failure has. */
  body?: z.ZodType
}

/** What is known of a route without asking it: the face reads requests by this, and the document prints it. */
type RouteDescription<Params, Query, Body, Result> = {
  method: Method
  /** With its last slash, though both forms are served. Parameters stand in braces: /api/v0/instances/{id}/ */
  path: string
  /** Unique among all routes: generated clients name their functions after it. */
  operationId: string
  tag: Tag
  summary: string
  about: string
  params?: Params
  query?: Query
  body?: Body
  /** Fields of the body of which "" says something. Of all others it says nothing, as clients mean it. */
  emptyStringFields?: readonly string[]
  /** What the document says of a body that has no schema, since `answer` reads more than a schema would take. */
  documentedBody?: z.ZodType
  /** Whether it may be repeated with the header Idempotency-Key, and then happens once. */
  takesIdempotencyKey?: boolean
  /**
   * Whether a second time does more than the first, or is refused because of that. Clients must not be led to repeat it
   * where it may have been done.
   */
  notIdempotent?: boolean
  /** Whether it needs no key where the operator opened the search to everybody. Only for what `anybody` may do. */
  publicSearch?: boolean
  /** Whether `answer` gives the same to everybody for as long as the process lives. It is called once. */
  isFixed?: boolean
  /** What a 200 is, where it is not JSON: `answer` gives its text. */
  produces?: 'text/plain' | 'text/html'
  /** What a 200 holds. */
  result: Result
  /** Beside those that every route has; see failures.ts. */
  failures?: Failure[]
}

/** Everything of a request, read. What has no schema is here as it was sent. */
type RouteInput<Params, Query, Body> = {
  services: Services
  params: z.output<Params>
  query: z.output<Query>
  body: z.output<Body>
  /** From the header; undefined where it is absent, or the route is not repeatable. */
  idempotencyKey: string | undefined
  /** Where the client reached this gateway: https://berth.example.com */
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

/** A route is a value. It needs a key that may do `operation`, or it is `open`. */
export type Route = RouteDescription<z.ZodType, z.ZodType, z.ZodType, z.ZodType> & {
  open?: boolean
  operation?: Operation
  // A method, since only those may be put here by a definition that knows more about its input.
  answer(input: RouteInput<z.ZodType, z.ZodType, z.ZodType> & { actor?: Actor | undefined }): Promise<unknown>
}

type UnparsedInput = z.ZodType<Record<string, unknown>>

/** Makes a route; what `answer` is given and must return follows from the schemas. */
export function route<
  Result extends z.ZodType,
  Params extends z.ZodType = UnparsedInput,
  Query extends z.ZodType = UnparsedInput,
  Body extends z.ZodType = UnparsedInput,
>(definition: RouteDefinition<Params, Query, Body, Result>): Route {
  return definition
}
