// Whether this gateway's clock is that of the database. What is charged by a clock that is ahead cannot be taken back.

import type { Logger } from 'pino'

export type Clock = {
  check(): Promise<void>
  /** Compares it every minute from now on. */
  start(): void
  stop(): void
  /** Whether it was right when it was compared last. */
  isRight(): boolean
}

export type ClockOptions = {
  now: () => Date
  /** The time of the database. */
  read: () => Promise<Date>
  log: Logger
  onChange: (isRight: boolean) => void
}

/** Clocks that are set by a network differ by less. */
const toleranceMs = 30_000
const everyMs = 60_000

export function createClock({ now, read, log, onChange }: ClockOptions): Clock {
  let isRight = true
  let timer: NodeJS.Timeout | undefined

  async function check(): Promise<void> {
    const before = now().getTime()
    // A database that does not answer is told of elsewhere.
    const databaseMs = (await read().catch(() => undefined))?.getTime()
    if (databaseMs === undefined) return
    // It was asked at some instant between these two.
    const aheadMs = Math.max(before - databaseMs, 0) + Math.min(now().getTime() - databaseMs, 0)
    const wasRight = isRight
    isRight = Math.abs(aheadMs) <= toleranceMs
    if (isRight === wasRight) return
    if (isRight) log.info('The clock is that of the database again, and due work is done.')
    else log.error({ aheadMs }, 'The clock is not that of the database. No due work is done until it is.')
    onChange(isRight)
  }

  return {
    check,
    start() {
      timer = setInterval(check, everyMs)
    },
    stop: () => clearInterval(timer),
    isRight: () => isRight,
  }
}
