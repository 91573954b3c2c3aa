// How fast a host reaches its gateway, next to what its machine promises to renters.

/** A measurement ends after this time, or after so many bytes. */
export const speedMs = 2_000
export const speedBytes = 64_000_000

export type Speeds = { downloadMbps: number; uploadMbps: number }

/** A way through the internet is rarely as fast as the line of the host. */
const tolerance = 0.5

export function mbpsOf(bytes: number, ms: number): number {
  return (bytes * 8) / 1_000 / Math.max(ms, 1)
}

/** What is said of a host that is slower than its machine promises. It is no refusal: the gateway's line may be the slow one. */
export function speedWarnings(promised: Speeds, measured: Speeds): string[] {
  const directions = [
    ['downloads', promised.downloadMbps, measured.downloadMbps],
    ['uploads', promised.uploadMbps, measured.uploadMbps],
  ] as const
  return directions.flatMap(([does, promises, reaches]) =>
    reaches < promises * tolerance
      ? [`It ${does} ${Math.round(reaches)} Mbps between itself and this gateway, and its offers promise ${promises}.`]
      : [],
  )
}
