import type { Issue } from './errors.ts'
import type { Machine } from './machines.ts'

/** Where a machine is reached. Two machines are never reached in the same place, so it tells them apart. */
export type Address = Pick<Machine, 'publicIp' | 'firstPort' | 'lastPort'>

export function sharesPort(a: Address, b: Address): boolean {
  return a.publicIp === b.publicIp && a.firstPort <= b.lastPort && b.firstPort <= a.lastPort
}

/** Machines of one file that have ports in common, each named at the later of the two. */
export function sharedInFile(addresses: (Address & { place: string })[]): Issue[] {
  const placed = addresses.map((address, index) => ({ ...address, index }))
  placed.sort((a, b) => a.publicIp.localeCompare(b.publicIp) || a.firstPort - b.firstPort || a.index - b.index)
  const found: { index: number; issue: Issue }[] = []
  let widest = placed[0]
  for (const address of placed.slice(1)) {
    if (widest && sharesPort(widest, address)) {
      const [earlier, later] = widest.index < address.index ? [widest, address] : [address, widest]
      found.push({ index: later.index, issue: sharing(later.place, later, earlier.place) })
    }
    if (!widest || widest.publicIp !== address.publicIp || address.lastPort > widest.lastPort) widest = address
  }
  return found.sort((a, b) => a.index - b.index).map(({ issue }) => issue)
}

export function sharing(place: string, { publicIp, firstPort, lastPort }: Address, other: string): Issue {
  const message = `${publicIp} with the ports ${firstPort} to ${lastPort} has some in common with ${other}.`
  return { path: `${place}: publicIp`, message }
}
