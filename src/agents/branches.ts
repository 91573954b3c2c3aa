// Connections of hosts beside their first one, which another gateway has. This gateway asks that one for a branch, and the
// host opens it here. Streams that renters begin here go over it: their bytes are too many for the database.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { AgentWire } from '../http/agents/sockets.ts'
import { createLink, type Link } from '../providers/agent/link.ts'
import { closeCodes } from '../providers/agent/protocol/closing.ts'
import { type Forward, MachineElsewhere } from '../providers/agent/provider.ts'
import { MachineUnreachable } from '../providers/provider.ts'
import type { Hold } from '../services/machines/agents/holds.ts'
import type { AgentServices } from '../services/machines/agents/services.ts'
import { holdMs } from '../services/machines/agents/sql.ts'
import { marginMs } from './connections.ts'
import { createFlights } from './flights.ts'

export type BranchDeps = {
  services: Pick<AgentServices, 'confirmElsewhere'>
  forward: Forward
  gatewayId: string
  /** Where hosts reach this gateway alone; null if only a balancer leads to it. */
  url: string | null
  log: Logger
  timing?: Partial<typeof defaultTiming>
}
const defaultTiming = {
  /** Renters wait this long for a branch. */
  openMs: 5_000,
  /** A host that no gateway has is mostly back within a second. Renters wait this long for it. */
  lossMs: 2_000,
  /** A branch stays open for this long after its last stream. */
  keptMs: 60_000,
  /** After a host did not open a branch, renters are refused at once for this long. */
  failedMs: 10_000,
}
const askAgainMs = 200
/** Half of the connections that a gateway takes. */
const maxBranches = 500

type Branch = { link: Link; untilMs: number; usedMs: number }
type Opening = { hold: Hold; protocol: number; askedMs: number; wire: AgentWire }

export function createBranches({ services, forward, gatewayId, url, log, timing }: BranchDeps) {
  const { openMs, lossMs, keptMs, failedMs } = { ...defaultTiming, ...timing }
  const open = new Map<number, Branch>()
  /** Until when which machines are not asked again. */
  const failures = new Map<number, number>()
  let renewing: Promise<void> | undefined
  let isStopped = false
  const flights = createFlights({ withinMs: openMs, ask, explain })

  async function ask(machineId: number, signal: AbortSignal): Promise<unknown> {
    const untilMs = performance.now() + lossMs
    for (;;) {
      try {
        return await forward(machineId, 'branch', { gatewayId, url }, signal)
      } catch (error) {
        if (!(error instanceof MachineUnreachable) || performance.now() > untilMs) throw error
      }
      await sleep(askAgainMs, undefined, { signal })
    }
  }

  /** A host that no gateway has may come back at any time. */
  function explain(machineId: number, error: unknown): unknown {
    if (error instanceof MachineUnreachable) return error
    log.warn({ err: error, machineId }, 'A host of another gateway did not open a second connection.')
    failures.set(machineId, performance.now() + failedMs)
    return new MachineElsewhere(refusalOf(machineId), { cause: error })
  }

  function close({ link }: Branch, code: number, reason: string): void {
    link.close(code, reason)
    forget(link)
  }

  function forget(link: Link): void {
    const { machineId, generation } = link
    if (open.get(machineId)?.link !== link) return
    open.delete(machineId)
    log.info({ machineId, generation }, 'The second connection of a host is closed.')
  }

  async function confirmAll(): Promise<void> {
    const asked = [...open.values()]
    const askedMs = performance.now()
    const held = await services.confirmElsewhere(asked.map(({ link }) => link))
    const confirmed = new Set(held.map(({ machineId }) => machineId))
    for (const branch of asked) {
      if (confirmed.has(branch.link.machineId)) branch.untilMs = askedMs + holdMs - marginMs
      else close(branch, closeCodes.replaced, 'The host has connected again, or its key is no longer valid.')
    }
  }

  function closeUnused(): void {
    const now = performance.now()
    for (const [machineId, until] of failures) if (until < now) failures.delete(machineId)
    for (const branch of open.values()) {
      if (branch.link.isBusy()) branch.usedMs = now
      else if (now - branch.usedMs > keptMs) close(branch, closeCodes.unused, 'Nobody uses this connection.')
    }
  }

  return {
    /** The branch of a machine. Opens one if there is none. */
    async linkOf(machineId: number, signal: AbortSignal): Promise<Link> {
      const branch = open.get(machineId)
      if (branch) branch.usedMs = performance.now()
      if (branch) return branch.link
      const isFull = open.size + flights.count() >= maxBranches && !flights.has(machineId)
      if (isStopped || isFull || (failures.get(machineId) ?? 0) > performance.now())
        throw new MachineElsewhere(refusalOf(machineId))
      return await flights.join(machineId, signal)
    },
    /** Whether somebody waits for a branch of this machine. */
    isAwaited: flights.has,
    /** Takes a branch that a host has opened. Undefined if nobody waits for it anymore. */
    take({ hold, protocol, askedMs, wire }: Opening): Link | undefined {
      const isHeld = () => performance.now() < branch.untilMs
      const link = createLink({ wire, ...hold, protocol, isHeld })
      const branch: Branch = { link, untilMs: askedMs + holdMs - marginMs, usedMs: performance.now() }
      if (!flights.land(link)) return undefined
      open.set(hold.machineId, branch)
      log.info({ ...hold }, 'A host of another gateway has opened a second connection.')
      return link
    },
    handleClosed(link: Link): void {
      link.handleClosed()
      forget(link)
    },
    /** The first connection of a host is here now. */
    giveWay(link: Link): void {
      failures.delete(link.machineId)
      flights.land(link)
      const branch = open.get(link.machineId)
      if (branch) close(branch, closeCodes.replaced, 'A later connection of this host has begun.')
    },
    /** Closes branches that are not used, and those of connections that are gone. */
    async renew(): Promise<void> {
      closeUnused()
      renewing ??= confirmAll()
        .catch((error: unknown) =>
          log.warn({ err: error }, 'Second connections of hosts were not confirmed. The gateway tries again.'),
        )
        .finally(() => {
          renewing = undefined
        })
      await renewing
    },
    stop(): void {
      isStopped = true
      flights.stop(new MachineUnreachable('This gateway stops.'))
      for (const branch of [...open.values()]) close(branch, closeCodes.stopping, 'This gateway stops. Connect again.')
    },
  }
}

function refusalOf(machineId: number): string {
  return `The host of machine ${machineId} is connected to another gateway. Try again there.`
}
