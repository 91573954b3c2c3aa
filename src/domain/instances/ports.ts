import type { Port } from '../launch/env.ts'
import { type Launch, type LaunchMode, missingModePorts } from '../launch/launch.ts'
import type { Machine } from '../machines/machines.ts'
import type { PortBinding } from './instances.ts'

/** Without an SSH proxy, a proxy mode gets the ports of its direct counterpart. */
const directModes: Partial<Record<LaunchMode, LaunchMode>> = { sshProxy: 'sshDirect', jupyterProxy: 'jupyterDirect' }

/** The ports that a mode still needs besides `ports`. Only a proxy mode without an SSH proxy needs any. */
export function missingPorts({ mode, ports }: Pick<Launch, 'mode' | 'ports'>, hasProxy: boolean): Port[] {
  const directMode = directModes[mode]
  return hasProxy || !directMode ? [] : missingModePorts(directMode, ports)
}

/** The ports of a launch: its own and, without an SSH proxy, those that replace the proxy. */
export function portsToBind(launch: Pick<Launch, 'mode' | 'ports'>, hasProxy: boolean): Port[] {
  return [...missingPorts(launch, hasProxy), ...launch.ports]
}

/** The mode that a container serves. It serves the direct counterpart if the public ports for that are bound. */
export function servedMode(mode: LaunchMode, bindings: PortBinding[]): LaunchMode {
  const directMode = directModes[mode]
  return directMode && missingModePorts(directMode, bindings).length === 0 ? directMode : mode
}

/** Warns that a proxy mode gets public ports, because there is no SSH proxy. */
export function proxyWarnings({ mode }: Pick<Launch, 'mode'>, hasProxy: boolean): string[] {
  if (hasProxy || !directModes[mode]) return []
  const replacement = mode === 'sshProxy' ? 'SSH gets a public port' : 'SSH and the notebook get public ports'
  return [`This service has no SSH proxy: ${replacement} of the machine instead.`]
}

/** A public port for each requested one: the same number if it is free, else the lowest free one. */
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
        throw new Error(
          `No port from ${firstPort} to ${lastPort} is free, although the machine's count of free ports says otherwise.`,
        )
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
