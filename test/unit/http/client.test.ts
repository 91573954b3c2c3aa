import { describe, expect, it } from 'vitest'
import { createTrustedProxies, noProxies } from '../../../src/http/client.ts'
import { originOf } from '../../../src/rest/paths.ts'

const proxies = createTrustedProxies(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])

function addressOf(remoteAddress: string | undefined, forwarded?: string, trusted = proxies) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return trusted.clientOf({ headers, socket: { remoteAddress } }).address
}

describe('the address of a client', () => {
  it.each([
    ['no proxy is trusted', '10.0.0.1', '198.51.100.7', noProxies],
    ['the peer is no trusted proxy', '203.0.113.9', '198.51.100.7', proxies],
    ['the header is absent', '10.0.0.1', undefined, proxies],
    ['the header is empty', '10.0.0.1', '', proxies],
  ])('is that of the peer if %s', (_, peer, forwarded, trusted) => {
    expect(addressOf(peer, forwarded, trusted)).toBe(peer)
  })

  it.each([
    ['198.51.100.7', '198.51.100.7'],
    // A client can send the header itself: proxies add to its end.
    ['1.1.1.1, 198.51.100.7', '198.51.100.7'],
    ['198.51.100.7, 10.1.1.1, 192.0.2.1', '198.51.100.7'],
    ['1.1.1.1,198.51.100.7 ,10.1.1.1', '198.51.100.7'],
    ['192.0.2.2', '192.0.2.2'],
    ['2001:db9::1', '2001:db9::1'],
    ['2001:DB9:0:0::1, 2001:db8::2', '2001:db9::1'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['198.51.100.7, ::ffff:0a01:0101', '198.51.100.7'],
    ['198.51.100.7:41234', '198.51.100.7'],
    ['[2001:db9::1]:443', '2001:db9::1'],
    ['"[2001:db9::1]"', '2001:db9::1'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('behind a trusted proxy that reports %s is %s', (forwarded, address) => {
    expect(addressOf('10.0.0.1', forwarded)).toBe(address)
    expect(addressOf('::ffff:10.0.0.1', forwarded)).toBe(address)
    expect(addressOf('2001:db8::9', forwarded)).toBe(address)
  })

  it('is that of the farthest proxy if all hops are trusted proxies', () => {
    expect(addressOf('10.0.0.1', '10.0.0.3, 10.0.0.2')).toBe('10.0.0.3')
  })

  it.each([
    'unknown',
    '_hidden',
    '',
    'for=198.51.100.7',
    '198.51.100.7.',
    '198.51.100',
    '198.51.100.256',
    '[198.51.100.7',
    '198.51.100.7 10.0.0.1',
    '1.1.1.1\u0000',
  ])('is that of the proxy that reports "%s", and never what is farther away', garbage => {
    expect(addressOf('10.0.0.1', garbage)).toBe('10.0.0.1')
    expect(addressOf('10.0.0.1', `1.1.1.1, ${garbage}, 10.0.0.2`)).toBe('10.0.0.2')
  })

  it('is empty if the peer has gone', () => {
    expect([addressOf(undefined), addressOf(undefined, '1.1.1.1')]).toEqual(['', ''])
  })
})

describe('the origin that a client used', () => {
  const origin = (peer: string, headers: Record<string, string>) =>
    originOf(new Request('http://berth.test/api/'), proxies.clientOf({ headers, socket: { remoteAddress: peer } }))
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'berth.example.com:8443' }

  it('is what a trusted proxy says', () => {
    expect(origin('10.0.0.1', forwarded)).toBe('https://berth.example.com:8443')
    expect(origin('10.0.0.1', { 'x-forwarded-proto': 'HTTPS' })).toBe('https://berth.test')
    expect(origin('10.0.0.1', { 'x-forwarded-host': 'evil.example, berth.example.com' })).toBe(
      'http://berth.example.com',
    )
  })

  it('is that of the request if somebody else says another one', () => {
    expect(origin('203.0.113.9', forwarded)).toBe('http://berth.test')
  })

  it.each([
    { 'x-forwarded-proto': 'javascript' },
    { 'x-forwarded-host': 'a b' },
    { 'x-forwarded-host': 'a/b' },
    { 'x-forwarded-host': '' },
    { 'x-forwarded-host': 'berth.example.com:99999' },
  ])('is that of the request if a trusted proxy says %j', headers => {
    expect(origin('10.0.0.1', headers)).toBe('http://berth.test')
  })
})
