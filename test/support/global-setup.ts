import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { ProvidedContext } from 'vitest'
import type { TestProject } from 'vitest/node'
import { openEmbedded } from '../../src/database/embedded/embedded.ts'
import { withDatabase } from '../../src/database/embedded/server.ts'
import { migrate } from '../../src/database/migrations.ts'
import { superuserUrl } from './database/embedded-admin.ts'
import { createRoles, dropRoles, makeLogins, type TestLogins, withLogin } from './database/logins.ts'
import { findParentFolder } from './database/parent-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The servers for the tests' databases: one for each worker, or one for all. */
    serverUrls: string[]
    /** The name of the migrated database to clone, which each server has. */
    templateName: string
    /** The roles of the databases, on each server. */
    logins: TestLogins
  }
}

export default async function setup({ provide, config }: TestProject): Promise<() => Promise<void>> {
  const { serverUrls, templateName, logins, stop } = await startDatabases(Number(config.maxWorkers))
  provide('serverUrls', serverUrls)
  provide('templateName', templateName)
  provide('logins', logins)
  return stop
}

/** What `startDatabases` starts. */
export type Databases = Pick<ProvidedContext, 'serverUrls' | 'templateName' | 'logins'>

/**
 * Tests run on the server that DATABASE_URL names, or on temporary servers. There is one temporary server per worker: a
 * reader of events waits for every open transaction of its server.
 */
export async function startDatabases(workers: number): Promise<Databases & { stop: () => Promise<void> }> {
  const given = process.env['DATABASE_URL']
  const servers = given ? [externalServer(given)] : await Promise.all(Array.from({ length: workers }, startServer))
  const templateName = `berth_test_template_${process.pid}`
  const logins = makeLogins()
  const stops = await Promise.all(servers.map(server => createTemplateDatabase(server, templateName, logins)))
  return {
    serverUrls: servers.map(({ url }) => url),
    templateName,
    logins,
    stop: async () => void (await Promise.all(stops.map(stop => stop()))),
  }
}

/** The data does not outlive the run, so it need not reach the disk, and need not be complete after a crash. */
const settings = ['fsync = off', 'full_page_writes = off', "max_wal_size = '256MB'"]

type Server = { url: string; stop: () => Promise<void> }

async function createTemplateDatabase(
  server: Server,
  templateName: string,
  logins: TestLogins,
): Promise<() => Promise<void>> {
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  const stop = async () => {
    await admin.query(`DROP DATABASE IF EXISTS ${templateName} WITH (FORCE)`)
    await dropRoles(admin, logins)
    await admin.end()
    await server.stop()
  }
  try {
    await createRoles(admin, logins)
    await admin.query(`CREATE DATABASE ${templateName} OWNER ${logins.owner.username}`)
    await migrate(withLogin(withDatabase(server.url, templateName), logins.owner))
  } catch (error) {
    await stop()
    throw error
  }
  return stop
}

function externalServer(url: string): Server {
  return { url, stop: async () => {} }
}

async function startServer(): Promise<Server> {
  const dataDir = await mkdtemp(join(await findParentFolder(), 'berth-test-'))
  // Under root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o711)
  const onLost = (error: Error) => {
    throw error
  }
  const { urls, release } = await openEmbedded({ dataDir, role: 'command', onLost })
  const url = await superuserUrl(dataDir, urls)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const setting of settings) await client.query(`ALTER SYSTEM SET ${setting}`)
  await client.query('SELECT pg_reload_conf()')
  await client.end()
  return {
    url,
    stop: async () => {
      await release()
      await rm(dataDir, { recursive: true })
    },
  }
}
