import type { PrismaClient } from '../database/generated/client.ts'
import type { Actor } from '../domain/actor.ts'
import type { RequestContext } from '../http/router.ts'
import type { Services } from '../services/services.ts'

/** The context of every resolver. Resolvers call `services`; only plugin-prisma uses `prisma`, to load relations. */
export type Context = RequestContext & {
  actor: Actor
  services: Services
  prisma: PrismaClient
  /** Aborted when the client disconnects. */
  disconnected: AbortSignal
}
