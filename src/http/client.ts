// The client of a request. Behind a proxy, its address is in a header that anybody can send, so only the proxies that the
// operator names are believed.

import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net'
import { isHost } from './refusal.ts'

export type Client = {
  address: string
  /** The start of the URL that the client used, where a trusted proxy says it. */
  protocol?: 'http' | 'https' | undefined
  host?: string | undefined
}

/** What the socket and the headers of a request say about its client. */
export type Peer = { headers: IncomingHttpHeaders; socket: { remoteAddress?: string | undefined } }

export type TrustedProxies = {
  has(address: string): boolean
  clientOf(request: Peer): Client
}

/** `ranges`: addresses and CIDR ranges. */
export function createTrustedProxies(ranges: readonly string[]): TrustedProxies {
  const proxies = new BlockList()
  for (const range of ranges) addRange(proxies, range)
  const has = (address: string) => proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

  /** The nearest hop that is no trusted proxy. Each proxy adds the address that it saw at the end. */
  function addressBehind(proxy: string, forwarded: string): string {
    let nearest = proxy
    for (const hop of forwarded.split(',').reverse()) {
      const address = parseHop(hop)
      // What is farther away was not seen by a trusted proxy.
      if (address === undefined) return nearest
      nearest = address
      if (!has(address)) return nearest
    }
    return nearest
  }

  return {
    has: address => has(plainAddress(address)),
    clientOf({ headers, socket }) {
      const peer = plainAddress(socket.remoteAddress ?? '')
      if (ranges.length === 0 || !has(peer)) return { address: peer }
      return {
        address: addressBehind(peer, textOf(headers['x-forwarded-for'])),
        protocol: parseProtocol(lastOf(textOf(headers['x-forwarded-proto']))),
        host: parseHost(lastOf(textOf(headers['x-forwarded-host']))),
      }
    },
  }
}

/** Without trusted proxies, a client is whoever connects. */
export const noProxies = createTrustedProxies([])

/** Whether it is an address or a CIDR range. A range of all addresses would let every client choose its own. */
export function isAddressRange(text: string): boolean {
  const [address = '', bits, ...others] = text.split('/')
  const version = isIP(address)
  if (version === 0 || address.includes('%') || others.length > 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32))
}

function addRange(list: BlockList, range: string): void {
  const [address = '', bits] = range.split('/')
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  if (bits === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(bits), family)
}

/** A hop as proxies write it: an address, maybe with a port. Undefined for anything else. */
function parseHop(hop: string): string | undefined {
  const text = hop.trim().replace(/^"(.*)"$/, '$1')
  const [, bracketed, withPort] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? []
  const [address = ''] = (bracketed ?? withPort ?? text).split('%')
  if (!isIPv6(address)) return isIP(address) ? address : undefined
  return plainAddress(new SocketAddress({ address, family: 'ipv6' }).address)
}

/** The address of a socket: an IPv4 address in place of its form in IPv6, and no zone. */
function plainAddress(address: string): string {
  if (!address.includes(':')) return address
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  const [bare = ''] = address.split('%')
  return mapped ?? bare
}

function parseProtocol(text: string): Client['protocol'] {
  const name = text.toLowerCase()
  return name === 'http' || name === 'https' ? name : undefined
}

function parseHost(text: string): string | undefined {
  return isHost(text) ? text : undefined
}

/** What the nearest proxy added. */
function lastOf(list: string): string {
  return list.split(',').at(-1)?.trim() ?? ''
}

function textOf(header: string | string[] | undefined): string {
  return Array.isArray(header) ? header.join(',') : (header ?? '')
}
