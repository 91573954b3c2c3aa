// A provider whose machines are simulated. Their state is in tables that all gateways share.

import { once } from 'node:events'
import type { ContainerRef } from '../../domain/instances/containers.ts'
import type { Provider } from '../provider.ts'
import { ContainerNotRunning, MachineUnreachable, PortRefused } from '../provider.ts'
import { type Container, makeContainer, observedOf, type Scale, startContainer, stopContainer } from './container.ts'
import { readLines } from './log.ts'
import { processOf } from './process.ts'
import { runCommand } from './shell.ts'
import { busyPercent, loadOf, simulateStats } from './stats.ts'
import type { SimulatedWorld, StoredContainer } from './world.ts'

type SimulatedProviderOptions = {
  world: SimulatedWorld
  now: () => Date
  /** 1 takes as long as a real machine; 0 takes no time. */
  delayFactor: number
}

type Change = (container: Container, now: Date, scale: Scale) => Container | undefined

export function createSimulatedProvider({ world, now, delayFactor }: SimulatedProviderOptions): Provider {
  const scale: Scale = ms => ms * delayFactor

  /** Undefined if there is no container. Throws if its machine does not answer. */
  async function find({ instanceId }: ContainerRef, signal: AbortSignal): Promise<StoredContainer | undefined> {
    signal.throwIfAborted()
    const kept = await world.find(instanceId)
    if (kept?.isMachineOut) throw new MachineUnreachable(`Machine ${kept.container.machineId} does not answer.`)
    return kept
  }

  async function checkMachine(machineId: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (await world.isMachineOut(machineId)) throw new MachineUnreachable(`Machine ${machineId} does not answer.`)
  }

  async function findRunning(ref: ContainerRef, signal: AbortSignal): Promise<Container> {
    const kept = await find(ref, signal)
    if (kept && observedOf(kept.container, now()).state === 'running') return kept.container
    throw new ContainerNotRunning(`The container of instance ${ref.instanceId} is not running.`)
  }

  async function change(ref: ContainerRef, signal: AbortSignal, applyChange: Change): Promise<void> {
    const { instanceId } = ref
    for (;;) {
      const stored = await find(ref, signal)
      const next = stored && applyChange(stored.container, now(), scale)
      signal.throwIfAborted()
      if (!stored || !next) return
      if (await world.replace({ instanceId, container: next, revision: stored.revision })) return
    }
  }

  return {
    async observe(ref, signal) {
      const kept = await find(ref, signal)
      return kept ? observedOf(kept.container, now()) : { state: 'absent' }
    },
    async ensure(spec, signal) {
      await checkMachine(spec.machineId, signal)
      signal.throwIfAborted()
      await world.add({ instanceId: spec.instanceId, container: makeContainer(spec, now(), scale) })
    },
    setSshKeys: (ref, sshKeys, signal) => change(ref, signal, container => ({ ...container, sshKeys: [...sshKeys] })),
    start: (ref, signal) => change(ref, signal, startContainer),
    stop: (ref, signal) => change(ref, signal, stopContainer),
    async remove(ref, signal) {
      if (!(await find(ref, signal))) return
      signal.throwIfAborted()
      await world.remove(ref.instanceId)
    },
    async logs(ref, range, signal) {
      const kept = await find(ref, signal)
      if (!kept) return []
      const loaded = { instanceId: ref.instanceId, image: kept.container.made.image }
      return readLines(kept.container.log, now().getTime(), range, ms => busyPercent(loaded, ms))
    },
    async exec(ref, command, signal) {
      return runCommand((await findRunning(ref, signal)).made, command)
    },
    async open(ref, spec, signal) {
      return processOf((await findRunning(ref, signal)).made, spec)
    },
    async connect(ref, port, signal) {
      await findRunning(ref, signal)
      const message = `Nothing listens on port ${port} of instance ${ref.instanceId}: its machine is simulated.`
      throw new PortRefused(message, { isSimulated: true })
    },
    async stats(machineId, signal) {
      await checkMachine(machineId, signal)
      const at = now()
      const ids = await world.idsOnMachine(machineId)
      const found = await Promise.all(ids.map(async id => ({ id, container: (await world.find(id))?.container })))
      return found.flatMap(({ id, container }) =>
        container && observedOf(container, at).state === 'running' ? [simulateStats(loadOf(id, container), at)] : [],
      )
    },
    async inventory(machineId, signal) {
      await checkMachine(machineId, signal)
      return { instanceIds: await world.idsOnMachine(machineId), volumeIds: [] }
    },
    removeVolume: (machineId, _, signal) => checkMachine(machineId, signal),
    // Containers say when they will change. No machine changes one by itself.
    async watch(machineId, _, signal) {
      await checkMachine(machineId, signal)
      await once(signal, 'abort')
    },
  }
}
