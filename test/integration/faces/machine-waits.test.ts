// Requests that wait for a machine, such as commands of renters that do not end.

import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { shareConnections } from '../../../src/database/shares.ts'
import { limitsFor } from '../../../src/http/admission/admission.ts'
import { restLimits } from '../../../src/http/admission/rests.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { serveApp } from '../../support/streams.ts'

const poolSize = 4
const { places } = limitsFor(shareConnections(poolSize).requests)
let app: TestApp
let served: Awaited<ReturnType<typeof serveApp>>

beforeAll(async () => {
  app = await startApp({ poolSize })
  served = await serveApp(app)
})

afterAll(async () => {
  await served.close()
  await app.close()
})

async function ask(
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; text: string }> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const outgoing = send(`${served.url}/api/v0${path}`, { method, headers, agent: false })
  outgoing.on('error', () => {})
  outgoing.end(body && JSON.stringify(body))
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: incoming.statusCode ?? 0, text: await text(incoming) }
}

it('take no places from others, nor from their own account', async () => {
  const rentals = rentalsOf(app)
  const [key, other] = [await app.newKey(null, someCredit), await app.newKey()]
  const id = await rentals.rent(key)
  await rentals.converge()
  const engine = await startFakeEngine(({ path }) => (path === '/containers/json' ? 'never' : undefined))
  await app.sql(
    `INSERT INTO engines (machine_id, url, mark, identity, gpu_access, gpu_uuids, connected_at)
      SELECT machine_id, $1, 'abcdef01', 'an engine that hangs', 'none', '{}', now() FROM instances WHERE id = $2`,
    [engine.url, id],
  )
  const waiting: Promise<unknown>[] = []
  const answers: string[] = []
  const run = () => {
    const asked = ask(key, 'PUT', `/instances/command/${id}/`, { command: 'sleep 1000' })
    waiting.push(asked.then(answer => answers.push(answer.text)).catch(() => {}))
  }
  // A gateway looks for new engines every two seconds, and refuses what waits too long on a slow computer.
  const runUntil = async (isEnough: () => boolean) => {
    const runSome = () => {
      for (let some = 0; some < 4; some += 1) run()
      return isEnough()
    }
    await expect.poll(runSome, { timeout: 25_000, interval: 100 }).toBe(true)
  }
  const isAnswered = async (by: string) => (await ask(by, 'GET', '/users/current/')).status === 200
  await runUntil(() => engine.requests.filter(({ path }) => path === '/containers/json').length >= 2 * places)
  for (const by of [other, key]) await expect.poll(() => isAnswered(by)).toBe(true)

  // They hold connections of the gateway, so an account has a share of those, too.
  await runUntil(() => answers.some(answer => answer.includes('Too many requests wait for answers of machines.')))
  expect(waiting.length - answers.length).toBeGreaterThanOrEqual(restLimits.ofOwner)
  await expect.poll(() => isAnswered(other)).toBe(true)
  await served.close()
  await Promise.all(waiting)
})
