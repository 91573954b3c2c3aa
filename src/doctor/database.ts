// The checks of the database. They change nothing in it.

import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { describeDatabase, openServer } from '../database/embedded/server.ts'
import { toError } from '../database/failure-codes.ts'
import { attempt } from './attempt.ts'
import { type Check, failAs, ok } from './check.ts'
import { findConnectFailure, withClient } from './facts/connect.ts'
import { gatherReplica } from './facts/replica.ts'
import { gatherRoles, gatherSchema } from './facts/schema.ts'
import { gatherSecret } from './facts/secret.ts'
import { gatherClock, gatherConnections, gatherDurability, gatherServer, gatherUpkeep } from './facts/server.ts'
import type { DoctorSettings } from './settings.ts'
import { examinePoolers, examineUrls, type Urls } from './urls.ts'
import { checkClock } from './verdicts/clock.ts'
import { checkConnections, neededConnections } from './verdicts/connections.ts'
import { checkReplica } from './verdicts/replica.ts'
import { checkRoles, checkSchema } from './verdicts/schema.ts'
import { checkSecret } from './verdicts/secret.ts'
import { checkConnectFailure, checkDurability, checkServer, checkUpkeep } from './verdicts/server.ts'

/** Returns the size of the database that Berth brings along; null if there is none on this computer. */
export async function* examineDatabase(settings: DoctorSettings): AsyncGenerator<Check, number | null> {
  const { databaseUrl, directUrl } = settings
  if (databaseUrl === undefined) return yield* examineEmbedded(settings)
  const { ownerUrl = directUrl ?? databaseUrl, metricsUrl = directUrl ?? databaseUrl } = settings
  yield* examineServer(settings, { databaseUrl, directUrl, ownerUrl, metricsUrl })
  return null
}

/** Starts the server if it does not run, as every command does. Makes no database. */
async function* examineEmbedded(settings: DoctorSettings): AsyncGenerator<Check, number | null> {
  const { dataDir, runAs } = settings
  if (!(await hasDatabase(dataDir))) {
    yield ok('database', `There is none in ${dataDir} yet: the first start makes it.`)
    yield* await attempt('secret', async () => checkSecret(await gatherSecret(settings, undefined)))
    return null
  }
  const given = { databaseUrl: undefined, ownerUrl: undefined, metricsUrl: undefined }
  const server = await openServer(given, { dataDir, runAs, role: 'command', onLost: () => {} }).catch(toError)
  if (server instanceof Error) {
    yield failAs('database', server.message, `Read the log of PostgreSQL in ${dataDir}.`)
    return null
  }
  try {
    return yield* examineServer(settings, { ...server.urls, directUrl: undefined })
  } finally {
    await server.release()
  }
}

async function hasDatabase(dataDir: string): Promise<boolean> {
  return await access(join(dataDir, 'postgres')).then(
    () => true,
    () => false,
  )
}

async function* examineServer(settings: DoctorSettings, urls: Urls): AsyncGenerator<Check, number | null> {
  // The same database and role, whichever way.
  const serverUrl = urls.directUrl ?? urls.databaseUrl
  const isUsable = yield* examineWays(settings, urls, serverUrl)
  if (!isUsable) {
    yield* await attempt('secret', async () => checkSecret(await gatherSecret(settings, undefined)))
    return null
  }
  yield* await attempt('migrations', () => examineSchema(serverUrl, urls))
  yield* await attempt('secret', () =>
    withClient(serverUrl, async client => checkSecret(await gatherSecret(settings, client))),
  )
  yield* await attempt('database', () => examineHabits(settings, serverUrl))
  yield* await attempt('replica', () => examineReplica(settings, serverUrl))
  if (settings.databaseUrl !== undefined) return null
  return await withClient(serverUrl, async client => (await gatherServer(client, '')).bytes).catch(() => null)
}

/** Returns whether a gateway can use the database at all. Otherwise further checks would mislead. */
async function* examineWays(settings: DoctorSettings, urls: Urls, serverUrl: string): AsyncGenerator<Check, boolean> {
  const unusable = await attempt('database', () => examineUrls(urls))
  yield* unusable
  if (unusable.length > 0) return false
  const database = describeDatabase(settings.databaseUrl, settings)
  const checks = await attempt('database', () =>
    withClient(serverUrl, async client => [checkServer(await gatherServer(client, database))]),
  )
  if (settings.databaseUrl !== undefined) checks.push(...(await attempt('pooler', () => examinePoolers(urls))))
  yield* checks
  return checks.every(({ state }) => state !== 'fail')
}

async function examineSchema(serverUrl: string, { ownerUrl, metricsUrl }: Urls): Promise<Check[]> {
  const schema = await withClient(ownerUrl, gatherSchema)
  const checks = checkSchema(schema)
  if (schema.problem !== undefined || schema.pending.length > 0) return checks
  const roles = await withClient(serverUrl, app => withClient(metricsUrl, metrics => gatherRoles(app, metrics)))
  return [...checks, ...checkRoles(roles)]
}

/** How the server is set up, which any role may read. */
async function examineHabits({ poolSize, directUrl }: DoctorSettings, serverUrl: string): Promise<Check[]> {
  const needed = neededConnections({ poolSize, isPooled: directUrl !== undefined })
  return await withClient(serverUrl, async client => [
    checkClock(await gatherClock(client)),
    checkConnections(await gatherConnections(client, needed)),
    ...checkDurability(await gatherDurability(client)),
    ...checkUpkeep(await gatherUpkeep(client)),
  ])
}

async function examineReplica({ replica }: DoctorSettings, serverUrl: string): Promise<Check[]> {
  if (!replica) return []
  const failure = await findConnectFailure({ setting: 'DATABASE_REPLICA_URL', url: replica.url })
  if (failure) return [checkConnectFailure(failure)]
  return await withClient(serverUrl, primary =>
    withClient(replica.url, async standby => [checkReplica(await gatherReplica(primary, standby, replica.maxLagMs))]),
  )
}
