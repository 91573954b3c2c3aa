// Resolves the host of a webhook, anew for each attempt: its owner may point the name elsewhere in between.

import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

export type HostAddress = { address: string; family: number }
export type ResolveHost = (host: string) => Promise<HostAddress[]>

/** Asks name servers only, not the hosts file of this machine. A slow lookup delays no other one. */
export const resolveWithNameServers: ResolveHost = async host => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
  return addresses.map(address => ({ address, family: isIP(address) }))
}

/** Resolves like any program on this machine, including names such as localhost. */
export const resolveWithSystem: ResolveHost = host => lookup(host, { all: true })
