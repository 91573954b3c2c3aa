import { describe, expect, it } from 'vitest'
import { createAddressLimits, networkOf } from '../../../src/http/address-limits.ts'

const limits = { connectionsPerAddress: 2, failuresPerMinute: 3 }

describe('the limits of an address', () => {
  it('refuse connections while too many are open', () => {
    const addresses = createAddressLimits(limits)
    expect([addresses.admit('a'), addresses.admit('a'), addresses.admit('a')]).toEqual([
      ...[undefined, undefined],
      'connections',
    ])
    expect(addresses.admit('b')).toBeUndefined()
    addresses.release('a')
    expect(addresses.admit('a')).toBeUndefined()
    expect(addresses.admit('a')).toBe('connections')
  })

  it('refuse an address for the rest of the minute after too many failures', () => {
    let now = 0
    const addresses = createAddressLimits(limits, () => now)
    expect([addresses.fail('a'), addresses.fail('a')]).toEqual([false, false])
    now = 50_000
    expect(addresses.admit('a')).toBeUndefined()
    expect([addresses.fail('a'), addresses.fail('a')]).toEqual([true, false])
    expect([addresses.admit('a'), addresses.admit('b')]).toEqual(['failures', undefined])
    now = 60_000
    expect(addresses.admit('a')).toBeUndefined()
    expect(addresses.fail('a')).toBe(false)
  })
})

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', ''],
])('counts %j as %j', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

it.each([
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:0::/56'],
  ['2001:db8:1:abcd::1', '2001:db8:1:ab00::/56'],
  ['203.0.113.7', '203.0.113.7'],
])('counts connections of %j as %j', (address, network) => {
  expect(networkOf(address, 56)).toBe(network)
})
