import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlDriverAdapter,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import pg from 'pg'

/** Node has it; TypeScript declares it only for browsers. */
declare const WebAssembly: {
  instantiate(binary: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}

/**
 * Prisma's engine for schemas and migrations. It runs in this process, needs no network and no native program. When
 * it compares migrations with a schema, it applies them to the database first, which must then be empty.
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

let loading: ReturnType<typeof loadEngine> | undefined

/** Once per process: the package keeps one instance. Its own entry makes Node warn of experiments on every start. */
async function loadEngine() {
  const name = '@prisma/schema-engine-wasm/schema_engine_bg'
  const glue: typeof import('@prisma/schema-engine-wasm/schema_engine_bg') = await import(name)
  const folder = dirname(createRequire(import.meta.url).resolve(name))
  const binary = await readFile(join(folder, 'schema_engine_bg.wasm'))
  const imports: Record<string, unknown> = { ...glue }
  // It leaves a timer behind, which would keep the process from ending for ten seconds.
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

/** Prisma's adapter with two faults (as of version 7.10) mended that only the schema engine meets. */
async function connectAdapter(pool: CatalogPool): Promise<SqlDriverAdapter> {
  const adapter = await new PrismaPg(pool).connect()
  // It cuts a script at every semicolon, in comments and functions too, and a crash would leave a half of it done.
  // Sent whole, PostgreSQL runs it in one transaction.
  adapter.executeScript = async script => void (await pool.query(script))
  // It does not know the type of some columns of the catalogue.
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = async query => {
    const result = await queryRaw(query)
    for (const index of pool.charColumns) result.columnTypes[index] = ColumnTypeEnum.Character
    return result
  }
  return adapter
}

/** Gives columns of PostgreSQL's internal type "char" out as text, and remembers which they were. */
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
