// A provider whose machines are reached by the agents on their hosts.

import { once } from 'node:events'
import type { ContainerRef, Observed } from '../../domain/instances/containers.ts'
import { MachineUnreachable, type Provider } from '../provider.ts'
import { createChangeLimit } from './change-limit.ts'
import type { Link } from './link.ts'
import { connectToPort, openProcess } from './processes.ts'
import type { ArgsOf, ResultOf } from './protocol/calls.ts'

/** Calls that another gateway makes for this one, if it has the connection: they have one short answer. */
export const forwarded = ['logs', 'exec', 'branch'] as const
export type Forwarded = (typeof forwarded)[number]
export type Forward = <Name extends Forwarded>(
  machineId: number,
  method: Name,
  args: ArgsOf<Name>,
  signal: AbortSignal,
) => Promise<ResultOf<Name>>

/** Another gateway has the connection of the machine, and its host did not connect to this one as well. */
export class MachineElsewhere extends MachineUnreachable {
  override name = 'MachineElsewhere'
}

export type AgentProviderOptions = {
  /** The connection of a machine to this gateway. Waits a moment for one that was just lost. */
  linkOf(machineId: number): Promise<Link | undefined>
  /** A connection of the machine to this gateway beside its first one, which another gateway has. */
  branchOf(machineId: number, signal: AbortSignal): Promise<Link>
  forward: Forward
}

export function createAgentProvider({ linkOf, branchOf, forward }: AgentProviderOptions): Provider {
  async function find(machineId: number): Promise<Link> {
    const link = await linkOf(machineId)
    if (link) return link
    throw new MachineUnreachable(`The host of machine ${machineId} is not connected.`)
  }

  /** For streams of renters, which any gateway may get. */
  const findAnywhere = async (machineId: number, signal: AbortSignal): Promise<Link> =>
    (await linkOf(machineId)) ?? (await branchOf(machineId, signal))

  return {
    async observe(ref, signal) {
      return withoutPast(await (await find(ref.machineId)).call('observe', containerOf(ref), signal))
    },
    async ensure({ machineId, ...spec }, signal) {
      await (await find(machineId)).call('ensure', { spec }, signal)
    },
    async setSshKeys(ref, sshKeys, signal) {
      await (await find(ref.machineId)).call('setSshKeys', { ...containerOf(ref), sshKeys: [...sshKeys] }, signal)
    },
    async start(ref, signal) {
      await (await find(ref.machineId)).call('start', containerOf(ref), signal)
    },
    async stop(ref, signal) {
      await (await find(ref.machineId)).call('stop', containerOf(ref), signal)
    },
    async remove(ref, signal) {
      await (await find(ref.machineId)).call('remove', containerOf(ref), signal)
    },
    async logs(ref, { after, tail }, signal) {
      const range = { ...(after !== undefined && { after }), ...(tail !== undefined && { tail }) }
      const args = { ...containerOf(ref), range }
      const link = await linkOf(ref.machineId)
      if (link) return await link.call('logs', args, signal)
      return await forward(ref.machineId, 'logs', args, signal)
    },
    async exec(ref, command, signal) {
      const args = { ...containerOf(ref), command }
      const link = await linkOf(ref.machineId)
      if (link) return await link.call('exec', args, signal)
      return await forward(ref.machineId, 'exec', args, signal)
    },
    open: async (ref, process, signal) =>
      await openProcess(await findAnywhere(ref.machineId, signal), containerOf(ref), process, signal),
    connect: async (ref, port, signal) =>
      await connectToPort(await findAnywhere(ref.machineId, signal), containerOf(ref), port, signal),
    inventory: async (machineId, signal) => await (await find(machineId)).call('inventory', {}, signal),
    stats: async (machineId, signal) => await (await find(machineId)).call('stats', {}, signal),
    async removeVolume(machineId, volumeId, signal) {
      await (await find(machineId)).call('removeVolume', { volumeId }, signal)
    },
    async watch(machineId, onChange, signal) {
      signal.throwIfAborted()
      const link = await find(machineId)
      const counts = createChangeLimit()
      const onChanges = (instanceIds: bigint[]) => {
        for (const id of instanceIds.filter(counts)) onChange(id)
      }
      const watching = link.call('watch', {}, signal, { aftermath: { onChange: onChanges } })
      const aborted = once(signal, 'abort')
      // Its rejection is either the abort, or the loss of the connection.
      await Promise.race([watching, aborted]).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      if (!signal.aborted) throw new MachineUnreachable(`The agent of machine ${machineId} ended its watch.`)
    },
  }
}

/** A host has one machine. */
function containerOf({ instanceId, accountId }: ContainerRef): { instanceId: bigint; accountId?: number } {
  return { instanceId, ...(accountId !== undefined && { accountId }) }
}

/** A host that expects changes in the past would have one pass after the other. */
function withoutPast(observed: Observed): Observed {
  if (!('until' in observed) || !observed.until || observed.until.getTime() > Date.now() + 500) return observed
  const { until: _, ...rest } = observed
  return rest
}
