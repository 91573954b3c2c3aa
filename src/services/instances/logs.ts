// What instances print, as it is and as it comes.

import type { Actor } from '../../domain/actor.ts'
import { invalidInput, notFound } from '../../domain/errors.ts'
import type { Event } from '../../domain/events/events.ts'
import { type LogLine, type LogRange, maxLogLines } from '../../domain/instances/containers.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { addressed, isTalking, placeIn, tailIssues } from '../../domain/instances/logs.ts'
import { authorise } from '../authorize.ts'
import { asked } from '../console.ts'
import type { Deps } from '../deps.ts'
import { type Following, streamOf } from '../feed.ts'
import { instanceServices } from './read.ts'

/** From which line on: the one after a cursor, or so many before the end. */
export type LogStart = { tail: number; after?: string | undefined }

/** A machine has so long to answer. */
const patienceMs = 5_000
/** How often it is asked for more. */
const pollMs = 1_000

export function logServices(deps: Deps) {
  const { byIds } = instanceServices(deps)

  return {
    /** The last lines of an instance that was found for the same actor. */
    async logs(actor: Actor, { id, accountId }: Pick<Instance, 'id' | 'accountId'>, tail: number): Promise<LogLine[]> {
      authorise(actor, 'instances.logs', { id: Number(id) })
      if (accountId !== actor.accountId) throw notFound('Instance', id)
      const issues = tailIssues(tail, 1)
      if (issues.length > 0) throw invalidInput(issues)
      return (await read(id, { tail })).map(line => addressed(id, line))
    },

    /** The last lines of an instance, or those after a cursor, and from then on whatever it prints until it is destroyed. */
    async watchLogs(actor: Actor, id: bigint, { tail, after }: LogStart): Promise<AsyncIterableIterator<LogLine>> {
      authorise(actor, 'instances.logs', { id: Number(id) })
      const issues = tailIssues(tail, 0)
      if (issues.length > 0) throw invalidInput(issues)
      const place = after === undefined ? undefined : placeIn(id, after)
      const wants = (event: Event) => event.instanceId === id
      // Followed before it is read, so that nothing happens in between.
      const following = await deps.feed.follow(actor, { wants })
      try {
        const instance = await find(actor, id)
        return streamOf(following, lines(actor, instance, following, await begin(id, tail, place)))
      } catch (error) {
        following.close()
        throw error
      }
    },
  }

  async function* lines(actor: Actor, first: Instance, following: Following, begun: Begun): AsyncGenerator<LogLine> {
    const { id } = first
    let { place, found } = begun
    for (let instance: Instance | undefined = first; ; ) {
      for (const line of found) yield addressed(id, line)
      place = found.at(-1)?.cursor ?? place
      if (found.length < maxLogLines) instance = await untilMore(actor, instance, following)
      if (!instance) return
      found = await read(id, place === undefined ? {} : { after: place })
    }
  }

  /** The instance when it may have printed more; undefined when there will be nothing more to tell. */
  async function untilMore(actor: Actor, instance: Instance, { next }: Following): Promise<Instance | undefined> {
    if (instance.destroyedAt) return undefined
    const news = await next(isTalking(instance) ? pollMs : undefined)
    return news && news.events.length > 0 ? await find(actor, instance.id) : news && instance
  }

  /** The first lines to tell, and the last one before them or among them. */
  async function begin(id: bigint, tail: number, after: string | undefined): Promise<Begun> {
    if (after !== undefined) return { found: await read(id, { after }), place: after }
    const found = await read(id, { tail: Math.max(tail, 1) })
    return { found: tail === 0 ? [] : found, place: found.at(-1)?.cursor }
  }

  async function read(id: bigint, range: LogRange): Promise<LogLine[]> {
    return await asked(patienceMs, signal => deps.containerConsole.logs(id, range, signal))
  }

  async function find(actor: Actor, id: bigint): Promise<Instance> {
    const [instance] = await byIds(actor, [id], 'instances.logs')
    if (!instance) throw notFound('Instance', id)
    return instance
  }
}

type Begun = { found: LogLine[]; place: string | undefined }
