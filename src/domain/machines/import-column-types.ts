// The types of import columns. `expected` completes "must be …" in messages.

import { parseUsd, printUsd } from '../money.ts'
import { textProblem } from '../texts.ts'

export type ColumnType<Value> = { expected: string; parse: (text: string) => Value | undefined }

export function text(maxCharacters: number): ColumnType<string> {
  const expected = `one line of at most ${maxCharacters} characters`
  return { expected, parse: value => (textProblem(value, maxCharacters) || /\p{Cc}/u.test(value) ? undefined : value) }
}

export function integer(least: number, most: number): ColumnType<number> {
  const expected = `a whole number from ${least} to ${most}`
  return { expected, parse: value => (/^-?\d+$/.test(value) ? within(least, most, Number(value)) : undefined) }
}

/** `factor` converts the written unit to the stored one, which is whole: 0.5 GB becomes 500 MB. */
export function decimal(least: number, most: number, factor?: number): ColumnType<number> {
  const expected = `a number from ${least} to ${most}`
  return {
    expected,
    parse(value) {
      if (!/^-?\d+(\.\d+)?$/.test(value)) return undefined
      const number = within(least, most, Number(value))
      return number === undefined || factor === undefined ? number : Math.round(number * factor)
    },
  }
}

function within(least: number, most: number, value: number): number | undefined {
  return value >= least && value <= most ? value : undefined
}

export function usd(leastNanos: bigint, mostNanos: bigint): ColumnType<bigint> {
  const expected = `dollars from ${printUsd(leastNanos)} to ${printUsd(mostNanos)}, with at most nine decimal places`
  return {
    expected,
    parse(value) {
      const nanos = parseUsd(value)
      return nanos !== undefined && nanos >= leastNanos && nanos <= mostNanos ? nanos : undefined
    },
  }
}

const booleanWords: Record<string, boolean> = { true: true, yes: true, 1: true, false: false, no: false, 0: false }
export const yesNo: ColumnType<boolean> = {
  expected: 'true or false',
  parse: value => booleanWords[value.toLowerCase()],
}

export function oneOf<const Words extends readonly string[]>(...words: Words): ColumnType<Words[number]> {
  return { expected: `one of ${words.join(', ')}`, parse: value => words.find(word => word === value) }
}

export function matching(pattern: RegExp, expected: string): ColumnType<string> {
  return { expected, parse: value => (pattern.test(value) ? value : undefined) }
}

const instantPattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A date without a time is midnight UTC. */
export const instant: ColumnType<Date> = {
  expected: 'an instant such as 2027-01-31T12:00:00Z, or a date',
  parse(value) {
    const [, day = ''] = instantPattern.exec(value) ?? []
    const [at, midnight] = [new Date(value), new Date(day)]
    if (Number.isNaN(at.getTime()) || Number.isNaN(midnight.getTime())) return undefined
    // `Date` reads February 31 as a day in March.
    return midnight.toISOString().startsWith(day) ? at : undefined
  },
}
