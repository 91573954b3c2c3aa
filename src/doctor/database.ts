// The checks of the database. They change nothing in it.

import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { describeDatabase, openServer } from '../database/embedded/server.ts'
import { toError } from '../database/failure-codes.ts'
import { isOtherLine, readHistoryLine } from '../database/history/line.ts'
import { attempt } from './attempt.ts'
import { type Check, failAs, ok } from './check.ts'
import { findConnectFailure, withClient } from './facts/connect.ts'
import { gatherPooler } from './facts/pooler.ts'
import { gatherReplica } from './facts/replica.ts'
import { gatherRoles, gatherSchema } from './facts/schema.ts'
import { gatherSecret } from './facts/secret.ts'
import { gatherClock, gatherConnections, gatherDurability, gatherServer, gatherUpkeep } from './facts/server.ts'
import type { DoctorSettings } from './settings.ts'
import { checkClock } from './verdicts/clock.ts'
import { checkConnections, checkPooler } from './verdicts/connections.ts'
import { checkReplica } from './verdicts/replica.ts'
import { checkRoles, checkSchema } from './verdicts/schema.ts'
import { checkSecret } from './verdicts/secret.ts'
import { checkConnectFailure, checkDurability, checkServer, checkUpkeep, otherDatabase } from './verdicts/server.ts'

type Urls = { databaseUrl: string; ownerUrl: string; metricsUrl: string }

/** Returns the size of the database that Berth brings along; null if there is none on this computer. */
export async function* examineDatabase(settings: DoctorSettings): AsyncGenerator<Check, number | null> {
  const { databaseUrl, ownerUrl = databaseUrl, metricsUrl = databaseUrl } = settings
  if (databaseUrl !== undefined && ownerUrl !== undefined && metricsUrl !== undefined) {
    yield* examineServer(settings, { databaseUrl, ownerUrl, metricsUrl })
    return null
  }
  return yield* examineEmbedded(settings)
}

/** Starts the server if it does not run, as every command does. Makes no database. */
async function* examineEmbedded(settings: DoctorSettings): AsyncGenerator<Check, number | null> {
  const { dataDir, runAs } = settings
  if (!(await hasDatabase(dataDir))) {
    yield ok('database', `There is none in ${dataDir} yet: the first start makes it.`)
    yield* checkSecret(await gatherSecret(settings, undefined))
    return null
  }
  const given = { databaseUrl: undefined, ownerUrl: undefined, metricsUrl: undefined }
  const server = await openServer(given, { dataDir, runAs, role: 'command', onLost: () => {} }).catch(toError)
  if (server instanceof Error) {
    yield failAs('database', server.message, `Read the log of PostgreSQL in ${dataDir}.`)
    return null
  }
  try {
    return yield* examineServer(settings, server.urls)
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
  const unusable = await examineUrls(urls)
  yield* unusable
  if (unusable.length > 0) {
    yield* await attempt('secret', async () => checkSecret(await gatherSecret(settings, undefined)))
    return null
  }
  const database = describeDatabase(settings.databaseUrl, settings)
  const facts = await withClient(urls.databaseUrl, client => gatherServer(client, database))
  const server = checkServer(facts)
  yield server
  if (server.state === 'fail') return null
  yield* await examinePoolers(settings, urls)
  yield* await examineSchema(urls)
  yield* await attempt('secret', () =>
    withClient(urls.databaseUrl, async client => checkSecret(await gatherSecret(settings, client))),
  )
  yield* await examineHabits(settings, urls)
  yield* await examineReplica(settings, urls)
  return settings.databaseUrl === undefined ? facts.bytes : null
}

/** The URLs that cannot be used, or lead elsewhere than the first. */
async function examineUrls({ databaseUrl, ...others }: Urls): Promise<Check[]> {
  const settings = [
    ['DATABASE_OWNER_URL', others.ownerUrl],
    ['DATABASE_METRICS_URL', others.metricsUrl],
  ] as const
  const further = settings.filter(([, url]) => url !== databaseUrl)
  const failures = [await findConnectFailure('DATABASE_URL', databaseUrl)]
  for (const [setting, url] of further) failures.push(await findConnectFailure(setting, url))
  const checks = failures.filter(failure => failure !== undefined).map(checkConnectFailure)
  if (checks.length > 0) return checks
  const { name } = await withClient(databaseUrl, readHistoryLine)
  for (const [setting, url] of further)
    if (isOtherLine(name, (await withClient(url, readHistoryLine)).name)) checks.push(otherDatabase(setting))
  return checks
}

async function examinePoolers({ databaseUrl }: DoctorSettings, urls: Urls): Promise<Check[]> {
  if (databaseUrl === undefined) return []
  return await attempt('pooler', async () => {
    const app = checkPooler(await gatherPooler('DATABASE_URL', urls.databaseUrl, urls.ownerUrl === urls.databaseUrl))
    if (urls.ownerUrl === urls.databaseUrl) return app
    return [...app, ...checkPooler(await gatherPooler('DATABASE_OWNER_URL', urls.ownerUrl, true))]
  })
}

async function examineSchema(urls: Urls): Promise<Check[]> {
  return await attempt('migrations', async () => {
    const schema = await withClient(urls.ownerUrl, gatherSchema)
    const checks = checkSchema(schema)
    if (schema.problem !== undefined || schema.pending.length > 0) return checks
    const roles = await withClient(urls.databaseUrl, app =>
      withClient(urls.metricsUrl, metrics => gatherRoles(app, metrics)),
    )
    return [...checks, ...checkRoles(roles)]
  })
}

/** How the server is set up, which any role may read. */
async function examineHabits({ poolSize }: DoctorSettings, { databaseUrl }: Urls): Promise<Check[]> {
  return await attempt('database', () =>
    withClient(databaseUrl, async client => [
      checkClock(await gatherClock(client)),
      checkConnections(await gatherConnections(client, poolSize)),
      ...checkDurability(await gatherDurability(client)),
      ...checkUpkeep(await gatherUpkeep(client)),
    ]),
  )
}

async function examineReplica({ replica }: DoctorSettings, { databaseUrl }: Urls): Promise<Check[]> {
  if (!replica) return []
  const failure = await findConnectFailure('DATABASE_REPLICA_URL', replica.url)
  if (failure) return [checkConnectFailure(failure)]
  return await attempt('replica', () =>
    withClient(databaseUrl, primary =>
      withClient(replica.url, async standby => [checkReplica(await gatherReplica(primary, standby, replica.maxLagMs))]),
    ),
  )
}
