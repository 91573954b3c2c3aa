// Which addresses are public. Berth runs inside its operator's network and renters are outside it. A request that Berth
// sends for a renter must not reach an address that the renter cannot reach.

import { BlockList, isIP } from 'node:net'

const privateIpv4 = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  privateIpv4.addSubnet(net, prefix)

/** Global unicast addresses. Loopback, local, multicast, IPv4-mapped and NAT64 addresses are outside this range. */
const globalIpv6 = new BlockList()
globalIpv6.addSubnet('2000::', 3, 'ipv6')

/**
 * Not public within `globalIpv6`: protocol assignments such as Teredo, documentation and 6to4. These addresses embed an
 * IPv4 address or are not routed.
 */
const specialIpv6 = new BlockList()
for (const [net, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  specialIpv6.addSubnet(net, prefix, 'ipv6')

/** Also false for a string that is not an address. */
export function isPublicAddress(address: string): boolean {
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 4) return !privateIpv4.check(address)
  return family === 6 && globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
}

/** The IP address in a URL's host part; undefined for a host name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}
