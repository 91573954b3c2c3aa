import type { Issue } from '../errors.ts'
import type { Machine } from './machines.ts'

/** A machine's public address. No two machines on the market share an IP address and a port. */
export type Address = Pick<Machine, 'publicIp' | 'firstPort' | 'lastPort'>

export function sharesPort(a: Address, b: Address): boolean {
  return a.publicIp === b.publicIp && a.firstPort <= b.lastPort && b.firstPort <= a.lastPort
}

/** An address from an import file. `place` names its row in messages: "line 2". */
export type PlacedAddress = Address & { row: number; place: string }
/** An issue in one row of an import file. */
export type RowIssue = { row: number; issue: Issue }

/** Machines of one file that share ports. Each issue belongs to the later row of the two. */
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
  const message = `ports ${firstPort} to ${lastPort} of ${publicIp} overlap with those of ${other}.`
  return { row, issue: { path: `${place}: publicIp`, message } }
}
