// Counts what each address has open, and its refused logins.

import { isIPv6 } from 'node:net'

export type AddressLimits = ReturnType<typeof createAddressLimits>
type Limits = { connectionsPerAddress: number; failuresPerMinute: number }

const windowMs = 60_000
/** Addresses whose failures are remembered. The oldest are forgotten first. */
const maxRemembered = 20_000

export function createAddressLimits(limits: Limits, now: () => number = () => performance.now()) {
  const open = new Map<string, number>()
  const failures = new Map<string, { until: number; count: number }>()

  function countFailures(network: string): number {
    const known = failures.get(network)
    if (known && known.until <= now()) failures.delete(network)
    return failures.get(network)?.count ?? 0
  }

  return {
    /** Counts a connection until `release`. Returns why it is refused, or undefined. */
    admit(network: string): 'connections' | 'failures' | undefined {
      if (countFailures(network) >= limits.failuresPerMinute) return 'failures'
      const count = open.get(network) ?? 0
      if (count >= limits.connectionsPerAddress) return 'connections'
      open.set(network, count + 1)
      return undefined
    },

    release(network: string): void {
      const count = (open.get(network) ?? 0) - 1
      if (count > 0) open.set(network, count)
      else open.delete(network)
    },

    /** Counts a refused login. Returns whether the address reached the limit with it. */
    fail(network: string): boolean {
      const count = countFailures(network) + 1
      const until = failures.get(network)?.until ?? now() + windowMs
      const [oldest] = failures.keys()
      if (failures.size >= maxRemembered && oldest !== undefined) failures.delete(oldest)
      failures.set(network, { until, count })
      return count === limits.failuresPerMinute
    },
  }
}

/** What a provider gives a customer at least, mostly: such a client has 256 networks of 64 bits. */
export function customerNetworkOf(address: string): string {
  return networkOf(address, 56)
}

/** An IPv4 address as it is, and the first bits of an IPv6 address: a client can choose the rest. */
export function networkOf(address: string, bits: 56 | 64 = 64): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (mapped !== undefined) return mapped
  const [bare = ''] = address.split('%')
  if (!isIPv6(bare)) return address
  const [head = '', tail] = bare.split('::')
  const [first, last] = [head, tail ?? ''].map(half => half.split(':').filter(Boolean)) as [string[], string[]]
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4)
  const [a = 0, b = 0, c = 0, d = 0] = groups.map(group => Number.parseInt(group, 16))
  const kept = [a, b, c, bits === 56 ? d & 0xff00 : d]
  return `${kept.map(group => group.toString(16)).join(':')}::/${bits}`
}
