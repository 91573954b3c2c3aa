import pg from 'pg'
import { type EmbeddedOptions, openEmbedded } from './embedded.ts'

export type Server = { url: string; release(): Promise<void> }

/** The operator's server, or the one that Berth brings along. */
export async function openServer(url: string | undefined, embedded: EmbeddedOptions): Promise<Server> {
  return url === undefined ? await openEmbedded(embedded) : { url, release: async () => {} }
}

/** A database on the same server, made for this work and dropped after it. */
export async function withScratchDatabase<T>(url: string, work: (url: string) => Promise<T>): Promise<T> {
  const name = `berth_scratch_${process.pid}_${Date.now()}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name}`)
    return await work(withDatabase(url, name))
  } finally {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await client.end()
  }
}

export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}
