import type { World } from '../../src/providers/simulated.ts'

type Row = { preparedAt: Date; upAt: Date | null; downAt: Date | null; exitCode: number | null; sshKeys: string[] }

/** The simulated driver's table without a database: it does what the driver's six statements do. */
export function aWorld() {
  const rows = new Map<unknown, Row>()
  const world: World = async (text, [id, first, second]) => {
    const row = rows.get(id)
    switch (text.trim().split(/\s/)[0]) {
      case 'SELECT':
        return row ? [[row.preparedAt, row.upAt, row.downAt, row.exitCode, row.sshKeys]] : []
      case 'INSERT':
        if (!row) {
          const sshKeys = second as string[]
          rows.set(id, { preparedAt: first as Date, upAt: null, downAt: null, exitCode: null, sshKeys })
        }
        return []
      case 'DELETE':
        rows.delete(id)
        return []
      default:
        if (row) Object.assign(row, updated(row, text, first, second))
        return []
    }
  }
  return {
    world,
    has: (id: bigint) => rows.has(String(id)),
    /** A container that is up ends by itself. */
    exit(id: bigint, exitCode: number, now: Date): void {
      const row = rows.get(String(id))
      if (row?.upAt && row.upAt <= now && !row.downAt) row.exitCode ??= exitCode
    },
    /** Its machine loses it. */
    lose: (id: bigint) => rows.delete(String(id)),
  }
}

function updated(row: Row, text: string, first: unknown, second: unknown): Partial<Row> {
  if (text.includes('SET ssh_keys')) return { sshKeys: first as string[] }
  return text.includes('SET up_at') ? started(row, first, second) : stopped(row, first)
}

function started(row: Row, upAt: unknown, now: unknown): Partial<Row> {
  const isDown = row.upAt === null || row.exitCode !== null || (row.downAt !== null && row.downAt <= (now as Date))
  return isDown && row.preparedAt <= (now as Date) ? { upAt: upAt as Date, downAt: null, exitCode: null } : {}
}

function stopped(row: Row, downAt: unknown): Partial<Row> {
  return row.upAt !== null && row.downAt === null && row.exitCode === null ? { downAt: downAt as Date } : {}
}
