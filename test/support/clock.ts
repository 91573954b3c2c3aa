export type ManualClock = { now: () => Date; advance: (ms: number) => void }

/** A clock that stands still until it is told to move. */
export function manualClock(start = '2026-11-21T12:00:00.000Z'): ManualClock {
  let time = new Date(start).getTime()
  return {
    now: () => new Date(time),
    advance: ms => {
      time += ms
    },
  }
}
