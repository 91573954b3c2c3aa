import type { Actor } from '../domain/actor.ts'
import type { RequestContext } from '../http/router.ts'
import type { Services } from '../services/services.ts'

/** The context of every resolver. Resolvers read and write through `services` alone. */
export type Context = RequestContext & {
  actor: Actor
  services: Services
  /** Aborted when the client disconnects. Undefined if that closes the answer's stream anyway. */
  disconnected?: AbortSignal
}
