// A backup of the PostgreSQL that comes along, and its restore into another data folder.

import { copyFile, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient } from '../../support/failover/client.ts'
import {
  type GatewayProcess,
  makeDataDir,
  runBerth,
  startGateway,
  stopProgram,
} from '../../support/processes/programs.ts'

type DataFolder = Awaited<ReturnType<typeof makeDataDir>>

let [first, second]: DataFolder[] = []
let gateway: GatewayProcess
let file: string

const envOf = (folder: DataFolder | undefined) => ({ BERTH_DATA_DIR: folder?.dataDir as string, SIMULATED_DELAY: '0' })

beforeAll(async () => {
  ;[first, second] = [await makeDataDir(), await makeDataDir()]
  file = `${first.dataDir}-backup`
  gateway = await startGateway(envOf(first))
})

afterAll(async () => {
  gateway?.child.kill('SIGKILL')
  await first?.remove()
  await second?.remove()
  await rm(file, { force: true })
})

async function countOffers(url: string): Promise<number> {
  const key = await readFile(join(first?.dataDir as string, 'demo-key'), 'utf8')
  return (await createClient(url, key.trim()).ask('{ offers(first: 1) { totalCount } }')).data.offers.totalCount
}

it('is taken while the gateway runs, which keeps its folder from a restore', async () => {
  const { code, errors } = await runBerth(envOf(first), 'backup', file)
  expect([code, errors]).toEqual([0, ''])
  const refused = await runBerth(envOf(first), 'restore', file, '--replace')
  expect(refused.code).toBe(1)
  expect(refused.errors).toContain(`The data folder ${first?.dataDir} is in use by berth gateway, process`)
})

it('needs the secret of the first folder', async () => {
  const place = `or put its file "secret" into ${second?.dataDir}.`
  const without = await runBerth(envOf(second), 'restore', file)
  expect([without.code, without.errors]).toEqual([1, expect.stringContaining(`There is no secret. Set BERTH_SECRET`)])
  expect(without.errors).toContain(place)
  const wrong = await runBerth({ ...envOf(second), BERTH_SECRET: 'not the one of the first' }, 'restore', file)
  expect([wrong.code, wrong.errors]).toEqual([1, expect.stringContaining('The backup was made with another secret.')])
})

it('is all that the first folder has', async () => {
  const offers = await countOffers(gateway.url)
  expect(offers).toBeGreaterThan(100)
  expect(await stopProgram(gateway)).toBe(0)
  await copyFile(join(first?.dataDir as string, 'secret'), join(second?.dataDir as string, 'secret'))
  const { code, errors } = await runBerth(envOf(second), 'restore', file)
  expect([code, errors]).toEqual([0, ''])
  gateway = await startGateway(envOf(second))
  expect(await countOffers(gateway.url)).toBe(offers)
  expect(await stopProgram(gateway)).toBe(0)
})
