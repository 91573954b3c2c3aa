import type { PrismaClient } from '../database/generated/client.ts'
import type { Actor } from '../domain/actor.ts'
import type { RequestContext } from '../http/context.ts'
import type { Services } from '../services/services.ts'

/** What a resolver is given. It asks services; `prisma` is there for plugin-prisma's own loading of relations. */
export type Context = RequestContext & {
  actor: Actor
  services: Services
  prisma: PrismaClient
  /** Aborted when whoever asked is gone. */
  disconnected: AbortSignal
}
