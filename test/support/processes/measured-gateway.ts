// A gateway in a process of its own, which measures how long its event loop is held at a time. Its parent tells it by messages
// when a measurement begins and ends, and when to do the work that is due.

import type { AddressInfo } from 'node:net'
import { createApp } from '../../../src/app.ts'
import { listen } from '../../../src/http/listen.ts'
import { createLog } from '../../../src/http/log.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { unlimitedAdmission } from '../billing/admission.ts'
import { measureSteps } from './loop-steps.ts'

const [, , databaseUrl = '', now = ''] = process.argv
const app = createApp({
  databaseUrl,
  poolSize: 10,
  graphiql: true,
  metrics: true,
  demoKeyFile: undefined,
  secret: 'a secret of tests',
  toolboxFile: 'toolbox.tar',
  simulatedDelay: 1,
  eventRetentionDays: 90,
  sshProxy: null,
  startTimeoutMs: 30 * 60_000,
  offlineGraceMs: 5 * 60_000,
  privateWebhooks: true,
  ...unlimitedAdmission,
  build: { version: '0.0.0', migration: '20260101000000_first', node: '24.0.0' },
  log: createLog('fatal', process.stderr),
  now: () => new Date(now),
})
await app.start()
const http = createHttpServer(app.fetch, app)
await listen(http, 0, '127.0.0.1')

let finish = measureSteps()
const orders: Record<string, () => Promise<unknown>> = {
  async begin() {
    await finish()
    // So that a collection is due as late as possible.
    global.gc?.()
    finish = measureSteps()
  },
  finish: () => finish(),
  work: () => app.runUntilIdle(),
}
process.on('message', async (order: string) => process.send?.({ done: await orders[order]?.() }))
process.on('disconnect', () => process.exit())
process.send?.({ done: `http://127.0.0.1:${(http.address() as AddressInfo).port}` })
