// Both sides name the protocols that they speak, and use the newest that they share. A gateway speaks the newest protocol
// and the one before it, so an agent may be one protocol behind.

/** Newest first. */
export const protocols: readonly number[] = [2, 1]

/** The agent names them when it connects, as WebSocket subprotocols. */
export const protocolName = (protocol: number): string => `berth.host.${protocol}`

export function protocolOf(name: string): number | undefined {
  const [, digits] = /^berth\.host\.(\d{1,4})$/.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** The newest that both speak. */
export function sharedProtocol(spoken: readonly number[], offered: Iterable<string>): number | undefined {
  const known = [...offered].map(protocolOf)
  return spoken.find(protocol => known.includes(protocol))
}

/** What to do if there is none. */
export function protocolRefusal(spoken: readonly number[], offered: Iterable<string>): string {
  const known = [...offered].flatMap(name => protocolOf(name) ?? [])
  const isOlder = known.length === 0 || Math.max(...known) < Math.min(...spoken)
  const says = `The agent speaks protocol ${known.join(', ') || 'unknown'}, and the gateway ${spoken.join(', ')}.`
  return `${says} ${isOlder ? 'Upgrade Berth on this host.' : 'Upgrade the gateways first.'}`
}
