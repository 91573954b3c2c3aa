// Reads and follows the logs of instances.

import type { Actor } from '../../domain/actor.ts'
import { invalidInput, notFound } from '../../domain/errors.ts'
import type { Event } from '../../domain/events/events.ts'
import { type LogLine, type LogRange, maxLogLines } from '../../domain/instances/containers.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { canPrintMore, parseLogCursor, tailIssues, withInstanceCursor } from '../../domain/instances/logs.ts'
import { authorize } from '../authorize.ts'
import { askMachine } from '../container-console.ts'
import type { Deps } from '../deps.ts'
import { createStream, type FeedSubscription } from '../feed.ts'
import { instanceReadServices } from './read.ts'

/** Where a stream starts: after a cursor or, without a cursor, `tail` lines before the end of the log. */
type LogStart = { tail: number; after?: string | undefined }

const machineTimeoutMs = 5_000
/** The machine is polled for new lines at this interval. */
const pollMs = 1_000

type Logged = Pick<Instance, 'id' | 'machineId' | 'accountId'>
type LoggedInstance = Pick<Instance, 'id' | 'machineId' | 'accountId' | 'status' | 'destroyedAt' | 'removedAt'>

export function logServices(deps: Deps) {
  const { byIds } = instanceReadServices(deps)

  return {
    /** The last lines of an instance's log. The instance must have been found for the same actor. */
    async logs(actor: Actor, instance: Logged, tail: number): Promise<LogLine[]> {
      const { id, accountId } = instance
      authorize(actor, 'instances.logs', { id: Number(id) })
      if (accountId !== actor.accountId) throw notFound('Instance', id)
      const issues = tailIssues(tail, 1)
      if (issues.length > 0) throw invalidInput(issues)
      return (await readLines(instance, { tail })).map(line => withInstanceCursor(id, line))
    },

    /**
     * Streams the last lines of an instance's log, or the lines after a cursor, and then every new line until the
     * instance is destroyed.
     */
    async watchLogs(actor: Actor, id: bigint, { tail, after }: LogStart): Promise<AsyncIterableIterator<LogLine>> {
      authorize(actor, 'instances.logs', { id: Number(id) })
      const issues = tailIssues(tail, 0)
      if (issues.length > 0) throw invalidInput(issues)
      const lineCursor = after === undefined ? undefined : parseLogCursor(id, after)
      const isWanted = (event: Event) => event.instanceId === id
      // Subscribes before reading, so that no event is missed in between.
      const subscription = await deps.feed.subscribe(actor, { includes: isWanted })
      try {
        const instance = await findInstance(actor, id)
        return createStream(
          subscription,
          streamLines(actor, instance, subscription, await readFirstLines(instance, tail, lineCursor)),
        )
      } catch (error) {
        subscription.close()
        throw error
      }
    },
  }

  async function* streamLines(
    actor: Actor,
    first: LoggedInstance,
    subscription: FeedSubscription,
    begun: FirstLines,
  ): AsyncGenerator<LogLine> {
    const { id } = first
    let { lineCursor, lines } = begun
    for (let instance: LoggedInstance | undefined = first; ; ) {
      for (const line of lines) yield withInstanceCursor(id, line)
      lineCursor = lines.at(-1)?.cursor ?? lineCursor
      if (lines.length < maxLogLines) instance = await waitForMore(actor, instance, subscription)
      if (!instance) return
      lines = await readLines(instance, lineCursor === undefined ? {} : { after: lineCursor })
    }
  }

  /** Waits until the instance may have printed more. Returns undefined when the stream ends. */
  async function waitForMore(
    actor: Actor,
    instance: LoggedInstance,
    { next }: FeedSubscription,
  ): Promise<LoggedInstance | undefined> {
    if (instance.destroyedAt) return undefined
    const update = await next(canPrintMore(instance) ? pollMs : undefined)
    return update && update.events.length > 0 ? await findInstance(actor, instance.id) : update && instance
  }

  /** The first lines to send, and the cursor from which reading goes on. */
  async function readFirstLines(instance: Logged, tail: number, after: string | undefined): Promise<FirstLines> {
    if (after !== undefined) return { lines: await readLines(instance, { after }), lineCursor: after }
    const found = await readLines(instance, { tail: Math.max(tail, 1) })
    return { lines: tail === 0 ? [] : found, lineCursor: found.at(-1)?.cursor }
  }

  async function readLines({ id, machineId, accountId }: Logged, range: LogRange): Promise<LogLine[]> {
    const container = { machineId, instanceId: id, accountId }
    return await askMachine(machineTimeoutMs, signal => deps.containerConsole.logs(container, range, signal))
  }

  async function findInstance(actor: Actor, id: bigint): Promise<LoggedInstance> {
    const [instance] = await byIds(
      actor,
      [id],
      { id: true, machineId: true, accountId: true, status: true, destroyedAt: true, removedAt: true },
      'instances.logs',
    )
    if (!instance) throw notFound('Instance', id)
    return instance
  }
}

type FirstLines = { lines: LogLine[]; lineCursor: string | undefined }
