// The rules of docs/upgrading.md, with whole versions under load: the one before, this one, and two later ones.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newestMigration } from '../../../src/database/history/versions.ts'
import { openSite, type Site } from '../../support/deploy/site.ts'
import { makeLaterVersion, makeVersionBefore, removeVersions, type Version } from '../../support/deploy/versions.ts'

const expand = { name: '20990101000000_expand', script: "ALTER TABLE accounts ADD COLUMN later text DEFAULT 'x'" }
const contract = {
  name: '20990201000000_contract',
  script: `ALTER TABLE accounts DROP COLUMN later; UPDATE oldest_version SET migration = '${expand.name}'`,
}

let before: Version | undefined
let now: Version
let next: Version
let afterNext: Version
let site: Site

beforeAll(async () => {
  before = await makeVersionBefore()
  now = await makeLaterVersion('now', [])
  next = await makeLaterVersion('next', [expand])
  afterNext = await makeLaterVersion('after next', [expand, contract])
})
afterAll(() => removeVersions([before, now, next, afterNext]))

beforeEach(async () => {
  site = await openSite()
})
afterEach(() => site.close())

/** Renters with credit, on a market that a version has made. */
async function startRenters(version: Version) {
  await site.command(version, 'market', 'generate', '--machines', '40')
  const keys: string[] = []
  for (const name of ['a', 'b', 'c']) {
    const email = `${name}@example.com`
    keys.push((await site.command(version, 'account', 'create', '--email', email, '--credit', '1000')).apiKey)
  }
  return site.startRenters(keys)
}

/** Replaces two gateways one after another, as an upgrade does, with requests between all steps. */
async function replace(old: Awaited<ReturnType<Site['start']>>[], version: Version, serve: () => Promise<void>) {
  const started = []
  for (const gateway of old) {
    started.push(await site.start(version))
    await serve()
    await site.stop(gateway)
    await serve()
  }
  return started
}

describe('gateways of two versions', { timeout: 1_800_000 }, () => {
  it('serve side by side while one version replaces the other, forth and back, and no request fails', async () => {
    let gateways = [await site.start(now), await site.start(now)]
    const renters = await startRenters(now)
    gateways = await replace(gateways, next, renters.serve)
    const restarted = await site.start(now)
    await renters.serve()
    expect(await site.refusal(afterNext)).toBe(
      `Berth cannot start.\nThe migration ${contract.name} failed: a gateway or command of an older version uses the database, and would fail without what this takes away. It knows the migrations up to ${newestMigration.slice(0, 14)}. Upgrade it to a version that knows ${expand.name}, or stop it; then start again.\n`,
    )
    await renters.serve()
    await site.stop(restarted)
    gateways = await replace(gateways, afterNext, renters.serve)
    expect(await site.refusal(now)).toBe(
      `Berth cannot start.\nA newer version of Berth migrated the database, and this one is too old to run beside it: it does not know the migration ${expand.name}. Upgrade Berth here.\n`,
    )
    await replace(gateways, next, renters.serve)
    const report = await renters.stop()
    process.stdout.write(`${JSON.stringify({ ...report, failed: report.failed.length })}\n`)
    expect(report.failed.slice(0, 10)).toEqual([])
    expect(report.rentals).toBeGreaterThan(500)
  })

  it('serve side by side if one is the version before of the history', async ({ skip }) => {
    if (!before) return skip('this clone has no history, or the version before needs other packages')
    process.stdout.write(`The version before is ${before.name}.\n`)
    const gateways = [await site.start(before), await site.start(before)]
    const renters = await startRenters(before)
    await replace(gateways, now, renters.serve)
    const report = await renters.stop()
    process.stdout.write(`${JSON.stringify({ ...report, failed: report.failed.length })}\n`)
    expect(report.failed.slice(0, 10)).toEqual([])
    expect(report.rentals).toBeGreaterThan(50)
  })
})
