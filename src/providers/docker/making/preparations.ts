// Containers that this gateway prepares, and preparations that failed. Another gateway sees no container meanwhile, and
// may prepare it too: the first to make it wins.

import type { Logger } from 'pino'
import type { ContainerRef, ContainerSpec } from '../../../domain/instances/containers.ts'
import { MachineUnreachable } from '../../provider.ts'
import { EngineError } from '../engine/error.ts'
import { ContainerFailed, type Failure, kindOf, startFailure } from '../failures.ts'

type Preparation = { begunAt: Date; done: Promise<void>; controller: AbortController; failure: Failure | undefined }

/** Whether the next pass tries again: the machine is away, or another gateway took over. */
function isLost(error: unknown): boolean {
  // An engine without free addresses answers 404, too.
  const isGone = error instanceof EngineError && error.status === 404 && kindOf(error) !== 'noAddresses'
  return error instanceof MachineUnreachable || isGone
}

/** The oldest failures are forgotten. Their containers count as absent then. */
const maxFailures = 1_000

export type Preparations = ReturnType<typeof createPreparations>

export function createPreparations(log: Logger, now: () => Date) {
  const preparations = new Map<string, Preparation>()
  const keyOf = ({ machineId, instanceId }: ContainerRef) => `${machineId}:${instanceId}`

  function settle(key: string, preparation: Preparation, error?: unknown): void {
    if (preparations.get(key) !== preparation) return
    const { signal } = preparation.controller
    preparations.delete(key)
    if (error === undefined || signal.aborted) return
    log.warn({ err: error, container: key }, 'A container could not be prepared.')
    if (isLost(error)) return
    preparation.failure = (error instanceof ContainerFailed ? error : startFailure(error)).failure
    preparations.set(key, preparation)
    const failed = [...preparations].filter(([, { failure }]) => failure)
    for (const [oldest] of failed.slice(0, -maxFailures)) preparations.delete(oldest)
  }

  return {
    /** Undefined if this gateway neither prepares the container nor failed to. */
    find(ref: ContainerRef): { begunAt: Date; failure: Failure | undefined } | undefined {
      return preparations.get(keyOf(ref))
    },
    /** Begins a preparation, unless there is one. */
    begin(spec: ContainerSpec, prepare: (signal: AbortSignal) => Promise<void>): void {
      const key = keyOf(spec)
      if (preparations.has(key)) return
      const controller = new AbortController()
      const preparation: Preparation = { begunAt: now(), done: Promise.resolve(), controller, failure: undefined }
      preparations.set(key, preparation)
      preparation.done = prepare(controller.signal).then(
        () => settle(key, preparation),
        (error: unknown) => settle(key, preparation, error),
      )
    },
    /** Ends a preparation, and forgets a failed one. What it made exists when this resolves; a hanging engine delays that. */
    async cancel(ref: ContainerRef, signal: AbortSignal): Promise<void> {
      const preparation = preparations.get(keyOf(ref))
      preparation?.controller.abort()
      const aborted = Promise.withResolvers<never>()
      const giveUp = () => aborted.reject(signal.reason)
      signal.addEventListener('abort', giveUp)
      await Promise.race([preparation?.done, aborted.promise]).finally(() =>
        signal.removeEventListener('abort', giveUp),
      )
      if (preparations.get(keyOf(ref)) === preparation) preparations.delete(keyOf(ref))
    },
  }
}
