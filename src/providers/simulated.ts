// Machines that do not exist, and run nothing. What they would do is in the rows of a world that all gateways share.

import type { Provider } from './provider.ts'
import { ContainerNotRunning, MachineUnreachable } from './provider.ts'
import { type Container, make, type Scale, start, stop, truthOf } from './simulated-container.ts'
import { read } from './simulated-log.ts'
import { run } from './simulated-shell.ts'
import type { Kept, World } from './simulated-world.ts'

export type SimulatedOptions = {
  world: World
  now: () => Date
  /** 1 is as slow as a real machine; 0 does not wait. */
  delayFactor: number
}

type Change = (container: Container, now: Date, scale: Scale) => Container | undefined

export function createSimulated({ world, now, delayFactor }: SimulatedOptions): Provider {
  const scale: Scale = ms => ms * delayFactor

  /** Undefined where there is none. Throws where its machine does not answer. */
  async function find(instanceId: bigint, signal: AbortSignal): Promise<Kept | undefined> {
    signal.throwIfAborted()
    const kept = await world.find(instanceId)
    if (kept?.out) throw new MachineUnreachable(`Machine ${kept.container.machineId} does not answer.`)
    return kept
  }

  async function change(instanceId: bigint, signal: AbortSignal, changed: Change): Promise<void> {
    for (;;) {
      const kept = await find(instanceId, signal)
      const next = kept && changed(kept.container, now(), scale)
      signal.throwIfAborted()
      if (!kept || !next || (await world.replace(instanceId, next, kept.revision))) return
    }
  }

  return {
    async observe(instanceId, signal) {
      const kept = await find(instanceId, signal)
      return kept ? truthOf(kept.container, now()) : { state: 'absent' }
    },
    async ensure(spec, signal) {
      signal.throwIfAborted()
      const { machineId } = spec
      if (await world.isOut(machineId)) throw new MachineUnreachable(`Machine ${machineId} does not answer.`)
      signal.throwIfAborted()
      await world.add(spec.instanceId, make(spec, now(), scale))
    },
    authorise: ({ instanceId, sshKeys }, signal) =>
      change(instanceId, signal, container => ({ ...container, sshKeys })),
    start: (instanceId, signal) => change(instanceId, signal, start),
    stop: (instanceId, signal) => change(instanceId, signal, stop),
    async remove(instanceId, signal) {
      if (!(await find(instanceId, signal))) return
      signal.throwIfAborted()
      await world.remove(instanceId)
    },
    async logs(instanceId, range, signal) {
      const kept = await find(instanceId, signal)
      return kept ? read(kept.container.log, now().getTime(), range) : []
    },
    async exec(instanceId, command, signal) {
      const kept = await find(instanceId, signal)
      if (!kept || truthOf(kept.container, now()).state !== 'running') {
        throw new ContainerNotRunning(`The container of instance ${instanceId} does not run.`)
      }
      return run(kept.container.made, command)
    },
  }
}
