// A provider whose machines run the containers with Docker Engine.

import type { Logger } from 'pino'
import type { Provider } from '../provider.ts'
import { createFinder } from './container.ts'
import { applyKeys, keysTar, uploadTar } from './files.ts'
import { readInventory, removeVolume } from './inventory.ts'
import { readLog } from './log/read.ts'
import { createMachines, type EngineOf } from './machine.ts'
import { makeContainer } from './making/make.ts'
import { createPreparations } from './making/preparations.ts'
import { createNetworks } from './networks.ts'
import { observeContainer } from './observe.ts'
import { connectToPort } from './processes/connect.ts'
import { readToEnd } from './processes/process.ts'
import { openSession } from './processes/sessions.ts'
import { createReadiness } from './readiness.ts'
import { removeContainers } from './remove.ts'
import { createSingleFlight } from './single-flight.ts'
import { startContainer } from './start.ts'
import { createStatsReader } from './stats/read.ts'
import { createStops } from './stops.ts'
import { watchContainers } from './watch.ts'

export type DockerProviderOptions = {
  engineOf: EngineOf
  /** A tar of the folder `.berth` that each container gets. */
  readToolbox: () => Promise<Buffer>
  log: Logger
  now: () => Date
}

export function createDockerProvider({ engineOf, readToolbox, log, now }: DockerProviderOptions): Provider {
  const machineOf = createMachines(engineOf)
  const { find, findRunning } = createFinder(machineOf)
  const preparations = createPreparations(log, now)
  const stops = createStops(log)
  const readiness = createReadiness({ log, now, stops })
  const starts = createSingleFlight()
  const networks = createNetworks()
  const readStats = createStatsReader({ log, now })
  const makeDeps = { readToolbox, log, networks, withoutDiskLimit: new WeakSet<object>() }

  return {
    async observe(ref, signal) {
      const machine = await machineOf(ref.machineId, signal)
      return await observeContainer({ preparations, readiness, stops, now }, machine, ref, signal)
    },
    async ensure(spec, signal) {
      const machine = await machineOf(spec.machineId, signal)
      if (await find(spec, signal)) return
      preparations.begin(spec, aborted => makeContainer(makeDeps, machine, spec, aborted))
    },
    async setSshKeys(ref, sshKeys, signal) {
      const found = await find(ref, signal)
      if (!found) return
      const { machine, container } = found
      await uploadTar(machine, container.Id, keysTar(sshKeys), signal)
      if (!container.State.Running) return
      await applyKeys(machine, container.Id, signal)
    },
    async start(ref, signal) {
      const found = await find(ref, signal)
      if (!found) return
      const { machine, container } = found
      await starts.run(container.Id, () => startContainer({ readToolbox, networks, log }, machine, container, signal))
    },
    async stop(ref, signal) {
      const found = await find(ref, signal)
      if (!found?.container.State.Running) return
      await stops.begin(found.machine, found.container, 'stopping', signal)
    },
    async remove(ref, signal) {
      const machine = await machineOf(ref.machineId, signal)
      await preparations.cancel(ref, signal)
      await removeContainers(networks, machine, ref, signal)
    },
    async logs(ref, range, signal) {
      const found = await find(ref, signal)
      return found ? await readLog(found.machine, found.container.Id, range, signal) : []
    },
    async exec(ref, command, signal) {
      const { machine, container } = await findRunning(ref, signal)
      return await readToEnd(await openSession(machine, container.Id, { command, terminal: null }, signal), signal)
    },
    async open(ref, process, signal) {
      const { machine, container } = await findRunning(ref, signal)
      return await openSession(machine, container.Id, process, signal)
    },
    async connect(ref, port, signal) {
      const { machine, container } = await findRunning(ref, signal)
      return await connectToPort(machine, container.Id, port, signal)
    },
    async stats(machineId, signal) {
      return await readStats(machineId, await machineOf(machineId, signal), signal)
    },
    async inventory(machineId, signal) {
      return await readInventory(await machineOf(machineId, signal), signal)
    },
    async removeVolume(machineId, volumeId, signal) {
      await removeVolume(await machineOf(machineId, signal), volumeId, signal)
    },
    async watch(machineId, onChange, signal) {
      await watchContainers(await machineOf(machineId, signal), onChange, signal)
    },
  }
}
