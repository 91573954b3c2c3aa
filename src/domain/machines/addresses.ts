import type { Issue } from '../errors.ts'
import type { Machine } from './machines.ts'

/** Where a machine is reached. Two machines are never reached in the same place, so it tells them apart. */
export type Address = Pick<Machine, 'publicIp' | 'firstPort' | 'lastPort'>

export function sharesPort(a: Address, b: Address): boolean {
  return a.publicIp === b.publicIp && a.firstPort <= b.lastPort && b.firstPort <= a.lastPort
}

/** An address as a file has it: in which of its rows, and what that is called. */
export type PlacedAddress = Address & { row: number; place: string }
/** What is wrong with a row of a file. */
export type RowIssue = { row: number; issue: Issue }

/** Machines of one file that have ports in common, each named at the later of the two. */
export function findSharedPortsInFile(addresses: PlacedAddress[]): RowIssue[] {
  const sorted = addresses.toSorted(
    (a, b) => a.publicIp.localeCompare(b.publicIp) || a.firstPort - b.firstPort || a.row - b.row,
  )
  const found: RowIssue[] = []
  let widest: PlacedAddress | undefined
  for (const address of sorted) {
    if (widest && sharesPort(widest, address)) {
      const [earlier, later] = widest.row < address.row ? [widest, address] : [address, widest]
      found.push(sharedPortIssue(later, earlier.place))
    }
    if (widest?.publicIp !== address.publicIp || address.lastPort > widest.lastPort) widest = address
  }
  return found
}

export function sharedPortIssue({ row, place, publicIp, firstPort, lastPort }: PlacedAddress, other: string): RowIssue {
  const message = `${publicIp} with the ports ${firstPort} to ${lastPort} has some in common with ${other}.`
  return { row, issue: { path: `${place}: publicIp`, message } }
}
