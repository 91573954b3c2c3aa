// A program: agents of hosts whose containers are simulated. HOST_KEYS has one key for each, separated by commas. It prints
// "connected" for each connection.

import { runAgent } from '../../../src/host/agent.ts'
import { createLog } from '../../../src/http/log.ts'
import { openSimulatedHost } from './hosts.ts'

const {
  GATEWAY_URL: gateway = '',
  HOST_KEYS: keys = '',
  DATABASE_URL: url = '',
  SIMULATED_DELAY: delay = '0',
} = process.env

const host = openSimulatedHost(url, { delayFactor: Number(delay) })
const log = createLog('info', process.stderr)
const stopping = new AbortController()
process.on('SIGTERM', () => stopping.abort())

await Promise.all(
  keys.split(',').map(key =>
    runAgent({
      ...{ gateway, key, version: '0.1.0', log, signal: stopping.signal },
      createProvider: () => host.provider,
      onConnected: () => void process.stdout.write('connected\n'),
    }),
  ),
)
await host.close()
