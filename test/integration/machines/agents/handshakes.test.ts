// Handshakes of hosts that come without end, with any key.

import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createTrustedProxies } from '../../../../src/http/client.ts'
import { limitRules, pagePoints, queryPoints } from '../../../../src/http/limits/points.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { captureStatements } from '../../../support/database/captured-statements.ts'
import { listMachines } from '../../../support/factories.ts'
import { newHostKey } from '../../../support/machines/hosts.ts'
import { serveApp } from '../../../support/streams.ts'

let app: TestApp
let served: Awaited<ReturnType<typeof serveApp>>
let key: string
const opened: WebSocket[] = []

beforeAll(async () => {
  app = await startApp({ pointsPerSecond: 20_000, proxies: createTrustedProxies(['127.0.0.0/8']) })
  served = await serveApp(app)
  await listMachines(app.operations, [{}])
  key = await newHostKey(app.operations, served.url, 1)
})

/** Everything is refilled. */
afterEach(() => {
  for (const socket of opened.splice(0)) socket.terminate()
  app.clock.advance(60_000)
})

afterAll(async () => {
  await served.close()
  await app.close()
})

const branchPath = '/host/branch?gateway=another&generation=1'
const wrongKey = (n = 0) => `berth_host_${String(n).padStart(43, 'A')}`

/** The status of a handshake, and when it says to try again. */
async function dial(path: string, secret: string, address: string) {
  const socket = new WebSocket(`${served.url.replace('http', 'ws')}${path}`, ['berth.host.2'], {
    headers: { authorization: `Bearer ${secret}`, 'x-forwarded-for': address },
  })
  opened.push(socket)
  socket.on('error', () => {})
  const open = once(socket, 'open').then(() => ({ status: 101, retryAfter: undefined }))
  const refused = once(socket, 'unexpected-response').then(([, { statusCode, headers }]) => ({
    status: statusCode as number,
    retryAfter: headers['retry-after'] as string | undefined,
  }))
  return await Promise.race([open, refused])
}

/** Tries until some are refused, while the clock of the limits stands still. Returns how many got another answer. */
async function exhaust(tryOnce: (n: number) => ReturnType<typeof dial>) {
  for (let begun = 0; begun < 2_000; begun += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => tryOnce(begun + index)))
    const refused = answers.filter(({ status }) => status === 429)
    if (refused[0]) return { answered: begun + answers.length - refused.length, retryAfter: refused[0].retryAfter }
  }
  throw new Error('No handshake was refused.')
}

describe('a handshake of a host', () => {
  it('is refused beyond the wrong keys of its address, before a statement', async () => {
    const { answered, retryAfter } = await exhaust(n => dial('/host', wrongKey(n), '192.0.2.1'))
    expect([answered, retryAfter]).toEqual([limitRules.guessesPerSecond * limitRules.windowSeconds, '1'])
    const sent = await captureStatements(() => dial('/host', wrongKey(9_999), '192.0.2.1'))
    expect(sent).toEqual([])
    expect((await dial('/host', key, '192.0.2.2')).status).toBe(101)
  })

  it('for another gateway takes points of its address, and makes no key known', async () => {
    const { answered, retryAfter } = await exhaust(() => dial(branchPath, wrongKey(), '192.0.2.3'))
    expect(answered).toBe((limitRules.addressPointsPerSecond * limitRules.windowSeconds) / pagePoints)
    expect(retryAfter).toBe('1')
    expect((await dial(branchPath, wrongKey(), '192.0.2.4')).status).toBe(421)
    await exhaust(n => dial('/host', wrongKey(n), '192.0.2.4'))
    // A known key would be looked up.
    expect((await dial('/host', wrongKey(), '192.0.2.4')).status).toBe(429)
  })

  it('with a valid key takes points of the host, wherever it comes from', async () => {
    const { answered, retryAfter } = await exhaust(n => dial('/host', key, `192.0.2.${n % 200}`))
    const most = (limitRules.hostPointsPerSecond * limitRules.windowSeconds) / queryPoints
    expect([answered, retryAfter]).toEqual([most, '1'])
    const toolbox = await fetch(`${served.url}/host/toolbox`, { headers: { authorization: `Bearer ${key}` } })
    expect([toolbox.status, toolbox.headers.get('ratelimit')]).toEqual([429, expect.stringMatching(/^"host";r=0;/)])
    app.clock.advance(1_000)
    expect((await dial('/host', key, '192.0.2.1')).status).toBe(101)
  })
})
