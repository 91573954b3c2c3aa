import type { MachineEngine } from '../domain/machines/engines.ts'
import { inSpan } from '../traces/spans.ts'
import { MachineUnreachable, type Provider } from './provider.ts'

/** The engines by machine. Machines without one are simulated. */
type Engines = {
  all(): Promise<ReadonlyMap<number, ReachedEngine>>
  current(machineId: number): Promise<ReachedEngine | undefined>
}
type ReachedEngine = Pick<MachineEngine, 'url'>
type Call = keyof Provider
type CallDriver<Answer> = (driver: Provider) => Promise<Answer>

/** `agent`: for machines whose hosts connect to a gateway. */
type FleetOptions = { simulated: Provider; docker: Provider; agent: Provider; engines: Engines; now?: () => number }

/** After a machine did not answer, it is not asked again for this long. Its other instances do not wait for it. */
const silenceMs = 2_000

/** The provider of all machines: it passes each call on to the driver of its machine. */
export function createFleet({ simulated, docker, agent, engines, now }: FleetOptions): Provider {
  const silence = createSilence(now)

  function driverFor(engine: ReachedEngine | undefined): Provider {
    if (!engine) return simulated
    return engine.url === null ? agent : docker
  }

  async function driverOf(machineId: number): Promise<Provider> {
    return driverFor((await engines.all()).get(machineId))
  }

  function nameOf(driver: Provider): string {
    if (driver === simulated) return 'simulated'
    return driver === agent ? 'agent' : 'docker'
  }

  /** A span tells which machine was asked for what, and by which driver. */
  function callInSpan<Answer>(name: Call, machineId: number, driver: Provider, call: CallDriver<Answer>) {
    const attributes = { 'berth.machine.id': machineId }
    return inSpan(`${nameOf(driver)} ${name}`, { attributes, kind: 'CLIENT' }, () => call(driver))
  }

  async function ask<Answer>(
    name: Call,
    machineId: number,
    signal: AbortSignal,
    call: CallDriver<Answer>,
  ): Promise<Answer> {
    const driver = await driverOf(machineId)
    if (driver === simulated) return await callInSpan(name, machineId, driver, call)
    silence.refuse(machineId)
    try {
      const answer = await callInSpan(name, machineId, driver, call)
      silence.end(machineId)
      return answer
    } catch (error) {
      // Whether a host is connected is known without asking it.
      const isSilent = (error instanceof MachineUnreachable && driver !== agent) || isTimeout(signal.reason)
      if (isSilent) silence.begin(machineId)
      throw error
    }
  }

  /** A call that waits for a renter's programs. They can make it fail in any way, so it tells nothing of the machine. */
  async function askRenter<Answer>(name: Call, machineId: number, call: CallDriver<Answer>): Promise<Answer> {
    silence.refuse(machineId)
    return await callInSpan(name, machineId, await driverOf(machineId), call)
  }

  return {
    observe: (container, signal) =>
      ask('observe', container.machineId, signal, driver => driver.observe(container, signal)),
    async ensure(spec, signal) {
      // Read anew: a container that is made by the wrong driver would stay there.
      const driver = driverFor(await engines.current(spec.machineId))
      await ask('ensure', spec.machineId, signal, () => driver.ensure(spec, signal))
    },
    setSshKeys: (container, sshKeys, signal) =>
      ask('setSshKeys', container.machineId, signal, driver => driver.setSshKeys(container, sshKeys, signal)),
    start: (container, signal) => ask('start', container.machineId, signal, driver => driver.start(container, signal)),
    stop: (container, signal) => ask('stop', container.machineId, signal, driver => driver.stop(container, signal)),
    remove: (container, signal) =>
      ask('remove', container.machineId, signal, driver => driver.remove(container, signal)),
    logs: (container, range, signal) =>
      ask('logs', container.machineId, signal, driver => driver.logs(container, range, signal)),
    exec: (container, command, signal) =>
      askRenter('exec', container.machineId, driver => driver.exec(container, command, signal)),
    open: (container, process, signal) =>
      askRenter('open', container.machineId, driver => driver.open(container, process, signal)),
    connect: (container, port, signal) =>
      askRenter('connect', container.machineId, driver => driver.connect(container, port, signal)),
    stats: (machineId, signal) => ask('stats', machineId, signal, driver => driver.stats(machineId, signal)),
    inventory: (machineId, signal) =>
      ask('inventory', machineId, signal, driver => driver.inventory(machineId, signal)),
    removeVolume: (machineId, volumeId, signal) =>
      ask('removeVolume', machineId, signal, driver => driver.removeVolume(machineId, volumeId, signal)),
    watch: (machineId, onChange, signal) =>
      ask('watch', machineId, signal, driver => driver.watch(machineId, onChange, signal)),
  }
}

/** Machines that did not answer just now. */
function createSilence(now: () => number = () => performance.now()) {
  const silentUntil = new Map<number, number>()
  return {
    begin: (machineId: number): void => void silentUntil.set(machineId, now() + silenceMs),
    end: (machineId: number): void => void silentUntil.delete(machineId),
    refuse(machineId: number): void {
      if ((silentUntil.get(machineId) ?? 0) > now()) throw new MachineUnreachable(`Machine ${machineId} is silent.`)
    },
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError'
}
