// A provider whose machines are reached by the agents on their hosts.

import { once } from 'node:events'
import type { Observed } from '../../domain/instances/containers.ts'
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
    async observe({ machineId, instanceId }, signal) {
      return withoutPast(await (await find(machineId)).call('observe', { instanceId }, signal))
    },
    async ensure({ machineId, ...spec }, signal) {
      await (await find(machineId)).call('ensure', { spec }, signal)
    },
    async setSshKeys({ machineId, instanceId }, sshKeys, signal) {
      await (await find(machineId)).call('setSshKeys', { instanceId, sshKeys: [...sshKeys] }, signal)
    },
    async start({ machineId, instanceId }, signal) {
      await (await find(machineId)).call('start', { instanceId }, signal)
    },
    async stop({ machineId, instanceId }, signal) {
      await (await find(machineId)).call('stop', { instanceId }, signal)
    },
    async remove({ machineId, instanceId }, signal) {
      await (await find(machineId)).call('remove', { instanceId }, signal)
    },
    async logs({ machineId, instanceId }, { after, tail }, signal) {
      const range = { ...(after !== undefined && { after }), ...(tail !== undefined && { tail }) }
      const link = await linkOf(machineId)
      if (link) return await link.call('logs', { instanceId, range }, signal)
      return await forward(machineId, 'logs', { instanceId, range }, signal)
    },
    async exec({ machineId, instanceId }, command, signal) {
      const link = await linkOf(machineId)
      if (link) return await link.call('exec', { instanceId, command }, signal)
      return await forward(machineId, 'exec', { instanceId, command }, signal)
    },
    open: async ({ machineId, instanceId }, process, signal) =>
      await openProcess(await findAnywhere(machineId, signal), instanceId, process, signal),
    connect: async ({ machineId, instanceId }, port, signal) =>
      await connectToPort(await findAnywhere(machineId, signal), instanceId, port, signal),
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

/** A host that expects changes in the past would have one pass after the other. */
function withoutPast(observed: Observed): Observed {
  if (!('until' in observed) || !observed.until || observed.until.getTime() > Date.now() + 500) return observed
  const { until: _, ...rest } = observed
  return rest
}
