// Where the host of a webhook is. Looked up anew for each attempt, since a name may be made to lead elsewhere in between.

import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

export type Address = { address: string; family: number }
export type ResolveHost = (host: string) => Promise<Address[]>

/** Asks name servers, and nothing that this machine or its network has beside them. No slow one keeps others waiting. */
export const resolveWithNameServers: ResolveHost = async host => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
  return addresses.map(address => ({ address, family: isIP(address) }))
}

/** As this machine finds hosts, with names such as localhost. */
export const resolveWithSystem: ResolveHost = host => lookup(host, { all: true })
