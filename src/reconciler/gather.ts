import type { Logger } from 'pino'

/** Changes of this time are noted together. */
const gatherMs = 50

/** Notes the ids that are added, many at once. */
export function gather(note: (ids: bigint[]) => Promise<void>, log: Logger) {
  const ids = new Set<bigint>()
  let timer: NodeJS.Timeout | undefined
  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const noted = [...ids]
    ids.clear()
    if (noted.length === 0) return
    // The next pass is due anyway, only later.
    await note(noted).catch((error: unknown) => log.warn({ err: error }, 'Changes of containers were not noted.'))
  }
  return {
    add(id: bigint): void {
      ids.add(id)
      timer ??= setTimeout(() => void flush(), gatherMs)
    },
    flush,
  }
}
