// How old the data of a replica may be. Clocks of servers do not count: the primary's places in the WAL are sampled, and a
// replica that has reached a place has everything from before that sample. So an idle primary does not look like lag.

/** How far a server is in the WAL, on the line of history that an epoch stands for. */
export type Place = { lsn: bigint; epoch: number }

export function createLag(maxLagMs: number) {
  /** Oldest first. */
  let samples: (Place & { atMs: number })[] = []
  return {
    /** Takes a place that the primary had reached at this time or later. */
    note(place: Place, atMs: number): void {
      // Places of another line of history cannot be compared.
      const comparable = samples.filter(({ epoch, atMs: at }) => epoch === place.epoch && atMs - at <= maxLagMs)
      samples = [...comparable, { ...place, atMs }]
    },
    /** The data of a replica at this place has all changes up to so long ago; undefined if that is not known or too long. */
    stalenessMs({ lsn, epoch }: Place, nowMs: number): number | undefined {
      const reached = samples.findLast(sample => sample.epoch === epoch && sample.lsn <= lsn)
      if (!reached || nowMs - reached.atMs > maxLagMs) return undefined
      return nowMs - reached.atMs
    },
    /** Since the newest sample. */
    sampleAgeMs: (nowMs: number): number => nowMs - (samples.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY),
  }
}

/** PostgreSQL writes a place as two hexadecimal numbers: 16/B374D848. */
export function parseLsn(text: string): bigint {
  const [high = '', low = ''] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
