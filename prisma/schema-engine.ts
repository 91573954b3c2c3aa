import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
} from '@prisma/driver-adapter-utils'
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm'
import pg from 'pg'
import { migrationsFolder } from '../src/database/history/versions.ts'
import { readMigrations } from '../src/database/migrations.ts'

/** Node has this global. TypeScript declares it only for browsers. */
declare const WebAssembly: {
  instantiate(binary: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}

/**
 * Prisma's engine for schemas and migrations. The engine runs in this process, and needs no network and no native
 * program. To compare migrations with a schema, it first applies them to the database, which must be empty.
 */
export async function withSchemaEngine<T>(url: string, work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  loading ??= loadEngine()
  const { SchemaEngine } = await loading
  const pool = new CatalogPool({ connectionString: url, max: 2 })
  const connect = () => connectAdapter(pool)
  const factory = {
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect,
    connectToShadowDb: connect,
  } as const
  const log = () => {}
  const engine = await SchemaEngine.new({ datamodels: undefined }, log, bindMigrationAwareSqlAdapterFactory(factory))
  try {
    return await work(engine)
  } finally {
    engine.free()
    await pool.end()
  }
}

/** The migrations in the engine's form. */
export async function readMigrationList(): Promise<MigrationList> {
  const migrations = await readMigrations()
  const lockfile = await readFile(new URL('migration_lock.toml', migrationsFolder), 'utf8')
  return {
    baseDir: fileURLToPath(migrationsFolder),
    lockfile: { path: 'migration_lock.toml', content: lockfile },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, script }) => {
      return { path: name, migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: script } } }
    }),
  }
}

let loading: ReturnType<typeof loadEngine> | undefined

/**
 * Runs once per process: the package keeps one instance. The package's own entry makes Node print a warning at start.
 */
async function loadEngine() {
  const name = '@prisma/schema-engine-wasm/schema_engine_bg'
  const glue: typeof import('@prisma/schema-engine-wasm/schema_engine_bg') = await import(name)
  const folder = dirname(createRequire(import.meta.url).resolve(name))
  const binary = await readFile(join(folder, 'schema_engine_bg.wasm'))
  const imports: Record<string, unknown> = { ...glue }
  // The engine leaves a timer behind that would keep the process alive for ten seconds.
  for (const name of Object.keys(imports).filter(key => key.startsWith('__wbg_setTimeout'))) {
    // The generated glue calls setTimeout and returns its timer.
    const setTimer = imports[name] as (...args: unknown[]) => NodeJS.Timeout
    imports[name] = (...args: unknown[]) => setTimer(...args).unref()
  }
  const { instance } = await WebAssembly.instantiate(binary, { './schema_engine_bg.js': imports })
  glue.__wbg_set_wasm(instance.exports)
  // Every module of wasm-bindgen exports this start function.
  ;(instance.exports['__wbindgen_start'] as () => void)()
  return glue
}

/** Prisma's adapter, with workarounds for two faults of version 7.10 that only the schema engine meets. */
async function connectAdapter(pool: CatalogPool): Promise<SqlDriverAdapter> {
  const adapter = await new PrismaPg(pool).connect()
  // The adapter splits a script at every semicolon, even in comments and functions. A crash would leave half of the
  // script applied. PostgreSQL runs an unsplit script in one transaction.
  adapter.executeScript = async script => void (await pool.query(script))
  // The adapter does not know the type of some catalog columns.
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = async query => {
    const result = await queryRaw(query)
    for (const index of pool.charColumns) result.columnTypes[index] = ColumnTypeEnum.Character
    return result
  }
  return adapter
}

/** Returns columns of PostgreSQL's internal type "char" as text, and remembers their indexes. */
class CatalogPool extends pg.Pool {
  charColumns: number[] = []

  // biome-ignore lint/suspicious/noExplicitAny: stands in for every overload of pg's query
  override async query(...args: any[]): Promise<any> {
    const internalChar = 18
    // Prisma's adapter asks for rows as arrays.
    // biome-ignore lint/suspicious/noExplicitAny: the same
    const result = await (super.query as (...args: any[]) => Promise<pg.QueryArrayResult>)(...args)
    const fields = result.fields ?? []
    this.charColumns = fields.flatMap((field, index) => (field.dataTypeID === internalChar ? [index] : []))
    for (const field of fields) if (field.dataTypeID === internalChar) field.dataTypeID = pg.types.builtins.TEXT
    return result
  }
}
