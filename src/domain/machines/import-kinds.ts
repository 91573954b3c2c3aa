// What the columns of an import can hold: how a text is read, and what it must be. Messages read on from "must be".

import { parseUsd, printUsd } from '../money.ts'
import { textProblem } from '../texts.ts'

export type Kind<Value> = { must: string; read: (text: string) => Value | undefined }

export function text(maxCharacters: number): Kind<string> {
  const must = `one line of at most ${maxCharacters} characters`
  return { must, read: value => (textProblem(value, maxCharacters) || /\p{Cc}/u.test(value) ? undefined : value) }
}

export function whole(least: number, most: number): Kind<number> {
  const must = `a whole number from ${least} to ${most}`
  return { must, read: value => (/^-?\d+$/.test(value) ? within(least, most, Number(value)) : undefined) }
}

/** `factor` makes of what people write what is stored, in whole units when there is one: 0.5 GB are 500 MB. */
export function decimal(least: number, most: number, factor?: number): Kind<number> {
  const must = `a number from ${least} to ${most}`
  return {
    must,
    read(value) {
      if (!/^-?\d+(\.\d+)?$/.test(value)) return undefined
      const number = within(least, most, Number(value))
      return number === undefined || factor === undefined ? number : Math.round(number * factor)
    },
  }
}

function within(least: number, most: number, value: number): number | undefined {
  return value >= least && value <= most ? value : undefined
}

export function usd(leastNanos: bigint, mostNanos: bigint): Kind<bigint> {
  const must = `dollars from ${printUsd(leastNanos)} to ${printUsd(mostNanos)}, with at most nine places`
  return {
    must,
    read(value) {
      const nanos = parseUsd(value)
      return nanos !== undefined && nanos >= leastNanos && nanos <= mostNanos ? nanos : undefined
    },
  }
}

const truths: Record<string, boolean> = { true: true, yes: true, 1: true, false: false, no: false, 0: false }
export const yesNo: Kind<boolean> = { must: 'true or false', read: value => truths[value.toLowerCase()] }

export function oneOf<const Words extends readonly string[]>(...words: Words): Kind<Words[number]> {
  return { must: `one of ${words.join(', ')}`, read: value => words.find(word => word === value) }
}

/** What a pattern describes. */
export function like(pattern: RegExp, must: string): Kind<string> {
  return { must, read: value => (pattern.test(value) ? value : undefined) }
}

const moment = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A day is the first instant of it. */
export const instant: Kind<Date> = {
  must: 'an instant such as 2027-01-31T12:00:00Z, or a day',
  read(value) {
    const [, day = ''] = moment.exec(value) ?? []
    const [at, midnight] = [new Date(value), new Date(day)]
    if (Number.isNaN(at.getTime()) || Number.isNaN(midnight.getTime())) return undefined
    // The 31st of February would be read as a day in March.
    return midnight.toISOString().startsWith(day) ? at : undefined
  },
}
