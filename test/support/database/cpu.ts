import { readFile } from 'node:fs/promises'

type Sql = (text: string) => Promise<unknown[]>

/** The CPU time that a database's connections have used, in ms. Linux tells it; elsewhere, time that has passed stands for it. */
export function createCpuClock(sql: Sql): () => Promise<number> {
  const used = new Map<number, number>()
  return async () => {
    const rows = (await sql(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'test'`,
    )) as { pid: number }[]
    for (const { pid } of rows) {
      const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => undefined)
      if (text !== undefined) used.set(pid, Number(text.split(' ')[0]) / 1e6)
    }
    return used.size === 0 ? performance.now() : [...used.values()].reduce((sum, one) => sum + one, 0)
  }
}
