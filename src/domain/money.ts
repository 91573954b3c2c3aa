// Money is an integer of nano-dollars; a rate is nano-dollars per hour. No float touches money, except where REST must
// print a JSON number. That number is made from the exact decimal.

const decimalPattern = /^(-?)(\d{1,9})(?:\.(\d{1,9}))?$/

/** Parses a decimal with at most nine places into nano-dollars; undefined if the text is anything else. */
export function parseUsd(text: string): bigint | undefined {
  const [, sign, whole = '', fraction = ''] = decimalPattern.exec(text) ?? []
  if (sign === undefined) return undefined
  const nanos = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
  return sign === '-' ? -nanos : nanos
}

/** The shortest decimal: 400000000n is "0.4". */
export function printUsd(nanos: bigint): string {
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return `${nanos < 0n ? '-' : ''}${digits.slice(0, -9)}${fraction && `.${fraction}`}`
}

/**
 * For ratios and JSON numbers. Parses the decimal text, since dividing a double of the nano-dollars would round twice.
 */
export function usdToNumber(nanos: bigint): number {
  return Number(printUsd(nanos))
}

/**
 * Rounds a JSON number of dollars to the nearest nano-dollar. A number with at most nine places keeps its exact value.
 */
export function nanosOfNumber(dollars: number): bigint {
  const largest = 999_999_999
  return parseUsd(Math.min(Math.max(dollars, -largest), largest).toFixed(9)) ?? 0n
}

/** Rounds half up. Neither argument may be negative; no price is. */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor / 2n) / divisor
}

const hoursPerMonth = 720n
const mbPerGb = 1000n
/** A price per GB per month is this many times the hourly rate of one MB. */
export const mbHoursPerGbMonth = hoursPerMonth * mbPerGb

/** The hourly cost of a disk, from its price in nano-dollars per GB per month (`diskPricePerGbMonthNanos`). */
export function diskPricePerHour(diskPricePerGbMonthNanos: bigint, diskMb: number): bigint {
  return divideRounded(diskPricePerGbMonthNanos * BigInt(diskMb), mbHoursPerGbMonth)
}
