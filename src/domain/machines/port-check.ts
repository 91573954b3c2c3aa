// Whether renters reach a machine's public ports: which of them a host opens when it joins, and what is said of the others.

import type { Issue } from '../errors.ts'
import type { Address } from './addresses.ts'

/** So many ports are tried at most. */
export const maxTriedPorts = 5
/** So many ports a host looks at until it has enough that are free. */
const maxCandidates = 50

/** Ports in the order in which a host opens them: the ends of the range, where mistakes are, and then any. */
export function portCandidates(
  { firstPort, lastPort }: Pick<Address, 'firstPort' | 'lastPort'>,
  random: () => number,
): number[] {
  const size = lastPort - firstPort + 1
  const others = Array.from({ length: maxCandidates - 2 }, () => firstPort + Math.floor(random() * size))
  return [...new Set([firstPort, lastPort, ...others])]
}

/** What a port answered: `silent` if nothing, `other` if it was not the host that joins. */
export type PortAnswer = 'host' | 'silent' | 'other'

/** Why renters do not reach the ports. Null if they do. */
export function findPortProblem(
  { publicIp, firstPort, lastPort }: Address,
  answers: ReadonlyMap<number, PortAnswer>,
): Issue | null {
  const portsWith = (wanted: PortAnswer) => [...answers].flatMap(([port, answer]) => (answer === wanted ? [port] : []))
  const [silent, other] = [portsWith('silent'), portsWith('other')]
  if (silent.length + other.length === 0) return null
  const failures = [
    ...(silent.length > 0 ? [`nothing answered the gateway at ${listPorts(silent)}`] : []),
    ...(other.length > 0 ? [`another program or computer answered at ${listPorts(other)}`] : []),
  ]
  const advice = `Open the TCP ports ${firstPort} to ${lastPort} in the firewall, and lead them from ${publicIp} to this host.`
  return { path: 'publicIp', message: `is ${publicIp}, but ${failures.join(', and ')}. ${advice}` }
}

function listPorts(ports: readonly number[]): string {
  return `${ports.length === 1 ? 'port' : 'ports'} ${ports.toSorted((a, b) => a - b).join(', ')}`
}
