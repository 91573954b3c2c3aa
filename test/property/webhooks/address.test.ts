// Checks which addresses are public against the IANA registries, compared as numbers.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPublicAddress } from '../../../src/services/webhooks/address.ts'

type Net = { first: bigint; prefix: number }

/** The networks that IANA lists as not globally reachable. */
const specialIpv4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
].map(net => {
  const [address = '', prefix] = net.split('/')
  return { first: address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n), prefix: Number(prefix) }
})

const hex = (groups: string, prefix: number): Net => ({ first: BigInt(`0x${groups.padEnd(32, '0')}`), prefix })
const specialIpv6 = [
  hex('', 128),
  hex('00000000000000000000000000000001', 128),
  hex('00000000000000000000ffff', 96),
  hex('0064ff9b', 96),
  hex('0064ff9b0001', 48),
  hex('0100', 64),
  hex('2001', 23),
  hex('20010db8', 32),
  hex('2002', 16),
  hex('3fff', 20),
  hex('5f00', 16),
  hex('fc00', 7),
  hex('fe80', 10),
  hex('fec0', 10),
  hex('ff00', 8),
]

const includes = ({ first, prefix }: Net, value: bigint, bits: number) =>
  value >> BigInt(bits - prefix) === first >> BigInt(bits - prefix)

function printIpv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map(shift => String((value >> shift) & 255n)).join('.')
}

function printIpv6(value: bigint): string {
  const digits = value.toString(16).padStart(32, '0')
  return (digits.match(/.{4}/g) as string[]).join(':')
}

/** An address in a network, more often at its ends. */
function within({ first, prefix }: Net, bits: number): fc.Arbitrary<bigint> {
  const size = 1n << BigInt(bits - prefix)
  const ends = [0n, size - 1n]
  return fc.oneof(fc.constantFrom(...ends), fc.bigInt({ min: 0n, max: size - 1n })).map(offset => first + offset)
}

describe('an IPv4 address', () => {
  it('is public unless a registry lists it as special', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), value => {
        const special = specialIpv4.some(net => includes(net, value, 32))
        expect(isPublicAddress(printIpv4(value))).toBe(!special)
      }),
      { numRuns: 2_000 },
    )
  })

  it.each(specialIpv4)(
    'is not public in $first/$prefix, and is public just outside it unless another network is special',
    net => {
      const last = net.first + (1n << BigInt(32 - net.prefix))
      fc.assert(fc.property(within(net, 32), value => !isPublicAddress(printIpv4(value))))
      for (const value of [net.first - 1n, last].filter(value => value >= 0n && value < 2n ** 32n)) {
        expect(isPublicAddress(printIpv4(value))).toBe(!specialIpv4.some(other => includes(other, value, 32)))
      }
    },
  )

  it('is not public in any IPv6 form that embeds it', () => {
    const carriers = [
      (value: bigint) => (0xffffn << 32n) | value,
      (value: bigint) => value,
      (value: bigint) => (0x64ff9bn << 96n) | value,
      (value: bigint) => (0x2002n << 112n) | (value << 80n),
      (value: bigint) => (0x20010000n << 96n) | (value ^ 0xffffffffn),
    ]
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), fc.constantFrom(...carriers), (value, carry) => {
        expect(isPublicAddress(printIpv6(carry(value)))).toBe(false)
      }),
    )
  })
})

describe('an IPv6 address', () => {
  it('is public when it is global unicast, unless a registry lists it as special', () => {
    const global = { first: 0x2000n << 112n, prefix: 3 }
    const anywhere = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n })
    fc.assert(
      fc.property(fc.oneof(anywhere, within(global, 128)), value => {
        const special = specialIpv6.some(net => includes(net, value, 128))
        expect(isPublicAddress(printIpv6(value))).toBe(includes(global, value, 128) && !special)
      }),
      { numRuns: 2_000 },
    )
  })

  it.each(specialIpv6)('is not public in $first/$prefix', net => {
    fc.assert(fc.property(within(net, 128), value => !isPublicAddress(printIpv6(value))))
  })

  it.each(['2606:4700:4700::1111', '2a00:1450:4001:82a::200e', '8.8.8.8', '93.184.215.14'])('%s is public', address => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

it.each([
  '',
  'localhost',
  'example.com',
  '1.2.3',
  '8.8.8.8.',
  '::ffff:8.8.8.8',
  'fe80::1%eth0',
  '2606:4700::1%lo',
  ' 8.8.8.8',
])('the text %j is not a public address', address => {
  expect(isPublicAddress(address)).toBe(false)
})
