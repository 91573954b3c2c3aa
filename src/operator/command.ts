import type { Engine } from '../domain/machines/engines.ts'
import type { instanceLogOperations } from '../services/instances/operator/logs.ts'
import type { engineOperations } from '../services/machines/engines/connect.ts'
import type { Operations } from '../services/operations.ts'
import type { webhookListOperations } from '../services/webhooks/list.ts'
import { type OptionTable, type OptionValues, parseOptions } from './options.ts'

/** One record, or one for each row of a list. */
export type OperatorResult = Record<string, unknown> | AsyncIterable<Record<string, unknown>>
/** How a terminal shows a row of a list that people read as text: as a line, or as several. */
export type LineOf = (row: Record<string, unknown>) => string | string[]

export type OperatorCommand = {
  summary: string
  options: OptionTable
  /** Text below the options in the help. */
  notes?: () => string
  /** Its list is no table on a terminal, but a line of text for each row. */
  lineOf?: LineOf
  /** What a table of its list has on a terminal, at most eight; all if absent. JSON has all of a row. */
  columns?: readonly string[]
  /** The command works on this computer alone, or opens the database by itself. */
  isLocal?: true
  /** The command migrates the database. Others refuse one that lacks migrations. */
  migrates?: true
  /** The command holds this lock: no other process may add machines to the market meanwhile, or no gateway may start. */
  lock?: 'market' | 'migration'
  /** Parses the options, before any database is opened. The function that it returns does the work. */
  read: (args: string[]) => RunCommand
}
/** What commands can do: also what needs the gateways' secret, or files of this computer. */
export type CommandOperations = Operations & {
  engines: ReturnType<typeof engineOperations>
  instanceLogs: ReturnType<typeof instanceLogOperations>
  webhooks: ReturnType<typeof webhookListOperations>
  secret: SecretOperations
  /** Warns of what containers on an engine could reach. */
  findFirewallGaps(engine: Pick<Engine, 'url' | 'tls'>): Promise<string[]>
  /** The migrations that the database lacked when a command that migrates began. They are applied. */
  migrations: string[]
} & LocalOperations
export type SecretOperations = {
  /** Changes the secret. If it has leaked, also ends what was derived from it. */
  change(hasLeaked: boolean): Promise<Record<string, unknown>>
}
/** What commands can do without an open database. */
export type LocalOperations = {
  backups: {
    write(file: string): Promise<Record<string, unknown>>
    restore(file: string, options: { replace: boolean }): Promise<Record<string, unknown>>
    /** Throws unless `restore` could begin with the file. Needs no database. */
    check(file: string): Promise<Record<string, unknown>>
    /** `programs` is the folder of the older PostgreSQL's programs. */
    upgrade(programs: string | undefined): Promise<Record<string, unknown>>
  }
  /** Builds the toolbox, and returns its file. */
  toolbox: { build(): Promise<{ file: string }> }
  /** Each ends when the process is told to stop. */
  host: { join(options: HostJoin): Promise<void>; run(): Promise<void> }
  /** What tells this version from others. */
  build: { version: string; migration: string; node: string }
  /** `url`: where clients reach the gateways. */
  doctor: { examine(options: { url: URL | undefined }): AsyncIterable<DoctorCheck> }
}
type DoctorCheck = { name: string; state: 'ok' | 'warn' | 'fail'; found: string; advice: string | null }
type HostJoin = { gateway: string; token: string; engine: string }
type RunCommand = (operations: CommandOperations) => Promise<OperatorResult> | OperatorResult

export function defineCommand<const Table extends OptionTable>(
  { options, ...about }: { options: Table } & Omit<OperatorCommand, 'options' | 'read'>,
  plan: (given: OptionValues<Table>) => RunCommand,
): OperatorCommand {
  return { ...about, options, read: args => plan(parseOptions(options, args)) }
}

const pageSize = 1_000

/** Reads every row of a list page by page. Each page starts after the last id of the page before. */
export async function* readAllRows<Row extends { id: number }>(
  readPage: (after: number, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let after = 0
  for (;;) {
    const rows = await readPage(after, pageSize)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    after = last.id
  }
}
