export type ManualClock = { now: () => Date; advance: (ms: number) => void }

/** A clock that moves only when a test advances it. */
export function manualClock(start = '2026-11-21T12:00:00.000Z'): ManualClock {
  let time = new Date(start).getTime()
  return {
    now: () => new Date(time),
    advance: ms => {
      time += ms
    },
  }
}
