// Which addresses are anybody's to reach. Berth stands inside of its operator's network, and a renter outside of it: what
// Berth sends for a renter must not arrive where he could not send it himself.

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

/** What is given out to the world. Loopback, local, multicast, IPv4-mapped and NAT64 addresses are outside of it. */
const globalIpv6 = new BlockList()
globalIpv6.addSubnet('2000::', 3, 'ipv6')

/** In it: protocols with Teredo, documentation, and 6to4, which carry an IPv4 address or lead to nobody. */
const specialIpv6 = new BlockList()
for (const [net, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  specialIpv6.addSubnet(net, prefix, 'ipv6')

/** Whether anybody can reach this address. What is no address is not. */
export function isPublicAddress(address: string): boolean {
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 4) return !privateIpv4.check(address)
  return family === 6 && globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
}

/** The address that a URL names instead of a host, if it does. */
export function literalAddress({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}
