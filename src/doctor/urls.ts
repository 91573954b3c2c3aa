// Where the URLs of the database lead.

import { isOtherLine, readHistoryLine } from '../database/history/line.ts'
import type { Check } from './check.ts'
import { findConnectFailure, type Way, withClient } from './facts/connect.ts'
import { gatherPooler } from './facts/pooler.ts'
import { checkPooler } from './verdicts/connections.ts'
import { checkConnectFailure, otherDatabase } from './verdicts/server.ts'

/** `directUrl`: past a pooler of transactions, to which `databaseUrl` leads. */
export type Urls = { databaseUrl: string; directUrl: string | undefined; ownerUrl: string; metricsUrl: string }

/** The URLs that cannot be used, or lead elsewhere than the first. */
export async function examineUrls(urls: Urls): Promise<Check[]> {
  const [first, ...others] = waysOf(urls)
  const failures = await Promise.all([first, ...others].map(findConnectFailure))
  const checks = failures.filter(failure => failure !== undefined).map(checkConnectFailure)
  if (checks.length > 0) return checks
  const { name } = await withClient(first.url, readHistoryLine)
  for (const { setting, url } of others)
    if (isOtherLine(name, (await withClient(url, readHistoryLine)).name)) checks.push(otherDatabase(setting))
  return checks
}

export async function examinePoolers(urls: Urls): Promise<Check[]> {
  const hasDirectUrl = urls.directUrl !== undefined
  const facts = await Promise.all(waysOf(urls).map(gatherPooler))
  return facts.flatMap(found => checkPooler({ ...found, hasDirectUrl }))
}

/** Each different URL once. */
function waysOf({ databaseUrl, directUrl, ownerUrl, metricsUrl }: Urls): [Way, ...Way[]] {
  const ways: [Way, ...Way[]] = [{ setting: 'DATABASE_URL', url: databaseUrl }]
  const others = { DATABASE_DIRECT_URL: directUrl, DATABASE_OWNER_URL: ownerUrl, DATABASE_METRICS_URL: metricsUrl }
  for (const [setting, url] of Object.entries(others))
    if (url !== undefined && ways.every(way => way.url !== url)) ways.push({ setting, url })
  return ways
}
