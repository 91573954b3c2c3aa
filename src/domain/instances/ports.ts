import type { Port } from '../launch/env.ts'
import { type Launch, type LaunchMode, missingModePorts } from '../launch/launch.ts'
import type { Machine } from '../machines/machines.ts'
import type { PortBinding } from './instances.ts'

/** Without an SSH proxy, a mode that goes through one gets the ports of its direct counterpart. */
const directModes: Partial<Record<LaunchMode, LaunchMode>> = { sshProxy: 'sshDirect', jupyterProxy: 'jupyterDirect' }

/** The ports that a mode lacks beside those that there are: none with an SSH proxy, or in a mode that needs none. */
export function missingPorts({ mode, ports }: Pick<Launch, 'mode' | 'ports'>, hasProxy: boolean): Port[] {
  const directMode = directModes[mode]
  return hasProxy || !directMode ? [] : missingModePorts(directMode, ports)
}

/** The ports that a launch is given: its own and, where there is no SSH proxy, those that its mode needs without one. */
export function portsToBind(launch: Pick<Launch, 'mode' | 'ports'>, hasProxy: boolean): Port[] {
  return [...missingPorts(launch, hasProxy), ...launch.ports]
}

/** How a container serves its mode: where the public ports of the direct counterpart are bound, it listens there. */
export function servedMode(mode: LaunchMode, bindings: PortBinding[]): LaunchMode {
  const directMode = directModes[mode]
  return directMode && missingModePorts(directMode, bindings).length === 0 ? directMode : mode
}

/** Says that a mode which goes through the SSH proxy gets public ports, since there is no proxy. */
export function proxyWarnings({ mode }: Pick<Launch, 'mode'>, hasProxy: boolean): string[] {
  if (hasProxy || !directModes[mode]) return []
  const replacement = mode === 'sshProxy' ? 'SSH gets a public port' : 'SSH and the notebook get public ports'
  return [`This service has no SSH proxy: ${replacement} of the machine instead.`]
}

/** A public port for each of the wished ones: the same number where it is free, else the lowest that is. */
export function choosePorts(
  { firstPort, lastPort }: Machine,
  taken: ReadonlySet<number>,
  requested: Launch['ports'],
): PortBinding[] {
  const used = new Set(taken)
  const isFree = (port: number) => port >= firstPort && port <= lastPort && !used.has(port)
  const take = (hostPort: number) => {
    let port = isFree(hostPort) ? hostPort : firstPort
    while (!isFree(port)) {
      if (port > lastPort)
        throw new Error(`More ports are counted as free than there are, from ${firstPort} to ${lastPort}.`)
      port += 1
    }
    used.add(port)
    return port
  }
  return requested.map(({ hostPort, containerPort, protocol }) => ({
    hostPort: take(hostPort),
    containerPort,
    protocol,
  }))
}
