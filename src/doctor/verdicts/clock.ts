import { type Check, ok, warn } from '../check.ts'

export type ClockFacts = {
  /** How far this computer is ahead of the database, at least. */
  aheadMs: number
  /** From which difference on gateways warn. */
  warningMs: number
}

export function checkClock({ aheadMs, warningMs }: ClockFacts): Check {
  const seconds = Math.round(Math.abs(aheadMs) / 100) / 10
  const side = aheadMs > 0 ? 'ahead of' : 'behind'
  if (Math.abs(aheadMs) <= warningMs)
    return ok('clock', `This computer's clock agrees with the database's to within ${Math.max(0.1, seconds)} s.`)
  return warn(
    'clock',
    `This computer's clock is ${seconds} s ${side} the database's, which decides what is charged and due.`,
    'Let network time (NTP) set the clocks of both computers.',
  )
}
