// The connections of agents to this gateway, and its hold of each in the database.

import type { Logger } from 'pino'
import { hostKeyRefusal } from '../domain/machines/agents.ts'
import { createLink, type Link } from '../providers/agent/link.ts'
import { closeCodes } from '../providers/agent/protocol/closing.ts'
import type { Wire } from '../providers/agent/streams/multiplexer.ts'
import type { Hold } from '../services/machines/agents/holds.ts'
import type { AgentServices } from '../services/machines/agents/services.ts'
import { holdMs } from '../services/machines/agents/sql.ts'

export type ConnectionDeps = {
  services: Pick<AgentServices, 'claim' | 'renew' | 'release'>
  log: Logger
  timing?: Partial<typeof defaultTiming>
}
const defaultTiming = {
  /** How often holds are renewed. A revoked host is disconnected within this time. */
  renewMs: 2_000,
  /** A call waits this long for a host that was just lost: most are back within a second. */
  lossMs: 2_000,
}
/** This gateway counts on a hold a little shorter than the others do. */
export const marginMs = 1_000

type Held = { link: Link; untilMs: number }
type Loss = { found: Promise<Link | undefined>; settle(link: Link | undefined): void }
/** `generation`: the greatest that the host has seen. */
export type AgentHello = { key: string; version: string; generation: number; protocol: number }

export type Connections = ReturnType<typeof createConnections>

export function createConnections({ services, log, timing }: ConnectionDeps) {
  const { renewMs, lossMs } = { ...defaultTiming, ...timing }
  const held = new Map<number, Held>()
  const losses = new Map<number, Loss>()
  let renewing: Promise<void> | undefined
  let isStopped = false

  const holdOf = ({ link: { machineId, generation } }: Held): Hold => ({ machineId, generation })

  /** Undefined if the connection was refused or is gone. */
  async function accept(hello: AgentHello, wire: Wire, isOpen: () => boolean): Promise<Link | undefined> {
    const askedMs = performance.now()
    const claimed = await services.claim(hello)
    if (!claimed) {
      wire.close(closeCodes.revoked, hostKeyRefusal)
      return undefined
    }
    const { machineId, generation, ...engine } = claimed
    const earlier = held.get(machineId)
    if (isStopped || !isOpen() || (earlier && earlier.link.generation > generation)) {
      wire.close(closeCodes.replaced, 'A later connection of this host has begun.')
      await services.release([claimed])
      return undefined
    }
    const isHeld = () => performance.now() < one.untilMs
    const link = createLink({ wire, machineId, generation, protocol: hello.protocol, isHeld })
    const one: Held = { link, untilMs: askedMs + holdMs - marginMs }
    held.set(machineId, one)
    earlier?.link.close(closeCodes.replaced, 'A later connection of this host has begun.')
    link.welcome(engine)
    losses.get(machineId)?.settle(link)
    log.info({ machineId, generation, version: hello.version }, 'The agent of a host is connected.')
    return link
  }

  function handleClosed(link: Link): void {
    link.handleClosed()
    const { machineId } = link
    const one = held.get(machineId)
    if (one?.link !== link) return
    held.delete(machineId)
    if (!isStopped) expectBack(machineId)
    log.info({ machineId, generation: link.generation }, 'The connection of an agent is closed.')
    services
      .release([holdOf(one)])
      .catch((error: unknown) => log.warn({ err: error, machineId }, 'A hold was not released. It ends by itself.'))
  }

  function expectBack(machineId: number): void {
    losses.get(machineId)?.settle(undefined)
    const { promise, resolve } = Promise.withResolvers<Link | undefined>()
    const timer = setTimeout(() => loss.settle(undefined), lossMs)
    const loss: Loss = {
      found: promise,
      settle(link) {
        clearTimeout(timer)
        if (losses.get(machineId) === loss) losses.delete(machineId)
        resolve(link)
      },
    }
    losses.set(machineId, loss)
  }

  async function renewAll(): Promise<void> {
    const asked = [...held.values()]
    const askedMs = performance.now()
    const renewed = new Map((await services.renew(asked.map(holdOf))).map(hold => [hold.machineId, hold.generation]))
    for (const one of asked) {
      const { machineId, generation } = one.link
      if (renewed.get(machineId) === generation) one.untilMs = askedMs + holdMs - marginMs
      else one.link.close(closeCodes.replaced, 'The host has connected again, or its key is no longer valid.')
    }
  }

  return {
    accept,
    handleClosed,
    machineIds: (): number[] => [...held.keys()],
    has: (machineId: number): boolean => held.has(machineId),
    linkOf: async (machineId: number): Promise<Link | undefined> =>
      held.get(machineId)?.link ?? (await losses.get(machineId)?.found),
    /** Renews all holds. Those that are lost are closed. */
    async renew(): Promise<void> {
      renewing ??= renewAll()
        .catch((error: unknown) =>
          log.warn({ err: error }, 'The holds of agents were not renewed. The gateway tries again.'),
        )
        .finally(() => {
          renewing = undefined
        })
      await renewing
    },
    renewMs,
    /** Closes all connections. The agents connect to another gateway. */
    async stop(): Promise<void> {
      isStopped = true
      for (const loss of [...losses.values()]) loss.settle(undefined)
      const all = [...held.values()]
      held.clear()
      const released = services.release(all.map(holdOf))
      for (const { link } of all) link.close(closeCodes.stopping, 'This gateway stops. Connect again.')
      await released.catch((error: unknown) =>
        log.warn({ err: error }, 'Holds of agents were not released. They end by themselves.'),
      )
    },
  }
}
