// Second connections of this host, to gateways that ask for them through the one that has the first. They end with the first.

import { setTimeout as sleep } from 'node:timers/promises'
import type { BranchTarget } from '../providers/agent/protocol/values.ts'
import type { Wire } from '../providers/agent/streams/multiplexer.ts'
import { type ConnectionOptions, Declined, Refused, serveConnection } from './connection.ts'
import type { Served, Session } from './session.ts'

export type BranchesOptions = Pick<ConnectionOptions, 'gateway' | 'key' | 'version' | 'protocols'> & {
  openSession(wire: Wire, beside: Served): Session
}
type Target = Pick<ConnectionOptions, 'gateway' | 'path' | 'signal'> & { beside: Served }

const maxBranches = 16
/** A balancer may lead to any gateway. With four of them, so many tries miss one of them once in ten thousand times. */
const maxTries = 32
const pauseMs = 50
const openMs = 2_000
/** The gateway was reached, and does not wait for this host anymore. */
const notAwaitedStatus = 409

export function createBranches({ openSession, gateway, ...options }: BranchesOptions) {
  /** By gateway. */
  const open = new Map<string, AbortController>()

  /** Resolves once the connection is open, with its end. */
  async function dial({ beside, ...target }: Target): Promise<{ ended: Promise<unknown> }> {
    const opened = Promise.withResolvers<void>()
    const connection = { ...options, ...target, openMs, onOpen: opened.resolve }
    const ended = serveConnection({ ...connection, openSession: wire => openSession(wire, beside) })
    ended.then(() => opened.reject(target.signal.reason), opened.reject)
    await opened.promise
    return { ended: ended.catch(() => {}) }
  }

  async function dialUntilOpen(target: Target): ReturnType<typeof dial> {
    for (let tries = 1; ; tries += 1) {
      target.signal.throwIfAborted()
      try {
        return await dial(target)
      } catch (error) {
        if (tries === maxTries || !mayHelp(error)) throw error
      }
      await sleep(Math.random() * pauseMs, undefined, { signal: target.signal })
    }
  }

  function addressOf(url: string | null): string {
    if (url !== null && new URL(gateway).protocol === 'https:' && new URL(url).protocol !== 'https:')
      throw new Error(`The key of this host travels encrypted only, and not to ${url}.`)
    return url ?? gateway
  }

  return {
    /** Resolves once the branch is open. A new one takes the place of an earlier one to the same gateway. */
    async open({ gatewayId, url }: BranchTarget, beside: Served, asked: AbortSignal): Promise<void> {
      asked.throwIfAborted()
      const address = addressOf(url)
      open.get(gatewayId)?.abort()
      const ending = new AbortController()
      if (open.size >= maxBranches && !open.has(gatewayId)) throw new Error('This host has too many branches.')
      open.set(gatewayId, ending)
      const forget = () => {
        if (open.get(gatewayId) === ending) open.delete(gatewayId)
      }
      const giveUp = () => ending.abort(asked.reason)
      asked.addEventListener('abort', giveUp, { once: true })
      const path = `/host/branch?gateway=${gatewayId}&generation=${beside.generation}`
      try {
        const { ended } = await dialUntilOpen({ gateway: address, path, signal: ending.signal, beside })
        void ended.then(forget)
      } catch (error) {
        forget()
        throw error
      } finally {
        asked.removeEventListener('abort', giveUp)
      }
    },
    endAll(): void {
      for (const ending of open.values()) ending.abort()
    },
  }
}

/** Whether another try may reach the gateway: this one reached another one, or none. */
function mayHelp(error: unknown): boolean {
  return !(error instanceof Refused) && !(error instanceof Declined && error.status === notAwaitedStatus)
}
