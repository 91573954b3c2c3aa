import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diskPricePerHour, divideRounded, parseUsd, printUsd, usdToNumber } from '../../../src/domain/money.ts'

describe('an amount', () => {
  it.each([
    ['0', 0n],
    ['0.4037', 403_700_000n],
    ['25', 25_000_000_000n],
    ['-0.000000001', -1n],
    ['999999999.999999999', 999_999_999_999_999_999n],
  ])('is parsed and printed exactly: %s', (text, nanos) => {
    expect(parseUsd(text)).toBe(nanos)
    expect(printUsd(nanos)).toBe(text)
  })

  it.each(['', '.5', '1.', '1e3', '0x10', '+1', '1,5', ' 1', '0.0000000001', '1000000000', 'NaN', '١'])(
    'is not parsed from "%s"',
    text => {
      expect(parseUsd(text)).toBeUndefined()
    },
  )

  it('stays the same when it is printed and parsed', () => {
    const limit = 10n ** 18n - 1n
    fc.assert(
      fc.property(fc.bigInt(-limit, limit), nanos => {
        expect(parseUsd(printUsd(nanos))).toBe(nanos)
      }),
    )
  })

  it('becomes the nearest number in JSON', () => {
    expect(usdToNumber(403_700_000n)).toBe(0.4037)
    expect(usdToNumber(100_000_000_000n)).toBe(100)
  })
})

describe('a rate', () => {
  it('is rounded half up', () => {
    expect(divideRounded(5n, 2n)).toBe(3n)
    expect(divideRounded(4n, 3n)).toBe(1n)
    expect(divideRounded(5n, 3n)).toBe(2n)
  })

  it('is the price of a disk per GB per month divided by 720 hours', () => {
    expect(diskPricePerHour(360_000_000n, 8_000)).toBe(4_000_000n)
    expect(diskPricePerHour(330_000_000n, 8_000)).toBe(3_666_667n)
    expect(diskPricePerHour(1n, 1)).toBe(0n)
    expect(diskPricePerHour(720n, 500)).toBe(1n)
  })
})
