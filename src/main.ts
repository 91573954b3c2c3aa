import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import packageJson from '../package.json' with { type: 'json' }
import { createApp } from './app.ts'
import { parseConfig } from './config.ts'
import { openServer } from './database/embedded/server.ts'
import { toError } from './database/failure-codes.ts'
import { newestMigration } from './database/history/versions.ts'
import { retryUncertain } from './database/retry.ts'
import { giveUpRoot } from './give-up-root.ts'
import { greet } from './greeting.ts'
import { createTrustedProxies, type TrustedProxies } from './http/client.ts'
import { listen, listenAt, reserveAddress } from './http/listen.ts'
import { createLog } from './http/log.ts'
import { createLogOutput } from './http/log-output.ts'
import { createHttpServer } from './http/server.ts'
import { createShutdown } from './http/shutdown.ts'
import { createNotebookServer } from './notebooks/server.ts'
import { logDestination } from './readable-log.ts'
import { loadSecret } from './secret-source.ts'
import { listenForStopSignals } from './stop-signals.ts'
import { sendLastSpans } from './traces/tracer.ts'

const missingSecretMessage =
  'BERTH_SECRET is missing. It encrypts the secrets in the database that DATABASE_URL names. Set it to the same text on every gateway.'

/** Tells one version from another, in the log and in the metrics. */
const build = { version: packageJson.version, migration: newestMigration, node: process.versions.node }

/** After the drain time, the process exits within this time, even if something hangs. */
const stopTimeoutMs = 4_500
/** Of that time, running requests get this long to finish. */
const requestGraceMs = 3_000
/** Database connections then get this long to close. Only an abandoned query takes longer. */
const disconnectGraceMs = 500
/** Spans of the last requests then get this long to reach the operator's collector. */
const lastSpansMs = 500

// Standard output is for people. The log goes to standard error.
const logOutput = createLogOutput(process.stderr)
// Also after an uncaught error.
process.on('exit', logOutput.flush)

try {
  await main()
} catch (error) {
  logOutput.write(`Berth cannot start.\n${toError(error).message}\n`)
  process.exitCode = 1
}
await logOutput.finish()
// Anything that still hangs, such as an unanswered connection attempt, would keep the process alive.
process.exit()

async function main(): Promise<void> {
  const signals = listenForStopSignals()
  const stopRequested = once(signals.requested, 'abort')
  const config = parseConfig(process.env)
  const log = createLog(config.logLevel, logDestination(logOutput, process.stderr))
  for (const sentence of config.unknownSettings) log.warn(sentence)
  if (config.databaseUrl !== undefined && config.secret === undefined) throw new Error(missingSecretMessage)
  const { host, port, dataDir, demoKeyFile, graphiql, drainMs, runAs } = config
  let isServing = false
  // Only a gateway that serves has anything to drain.
  const drained = stopRequested.then(() => signals.waitUnlessUrgent(isServing ? drainMs : 0))
  void drained.then(async () => {
    await sleep(stopTimeoutMs, undefined, { ref: false })
    log.warn('The gateway did not stop in time, so the process exits now.')
    process.exit()
  })
  const onLost = (error: Error) =>
    log.error({ err: error }, 'The embedded database stopped and cannot be started again.')
  const proxies = createTrustedProxies(config.trustedProxies)
  const door = await reserveAddress(port, host)
  const sshDoor = config.ssh && (await openSshDoor(config.ssh.port, host))
  const sshProxy = sshDoor ? (config.ssh?.address ?? { host, port: sshDoor.port }) : config.sshProxy
  const notebookDoor = config.notebooks && (await openNotebookDoor(config.notebooks.port, host, proxies))
  const notebookProxy = notebookDoor && (config.notebooks?.proxy ?? notebookDoor.localProxy)
  const server = await openServer(config, { dataDir, role: 'gateway', runAs, onLost })
  const prepare = async () => {
    const kept = await loadSecret(config)
    const problem = await giveUpRoot(config)
    if (problem) log.warn(`Berth stays root, which it should not. ${problem}`)
    return kept
  }
  const secret = await prepare().catch(async (error: unknown) => {
    await server.release()
    throw error
  })
  const doors = { sshProxy, ssh: sshDoor !== null, notebookProxy }
  const onChangedSecret = () => {
    log.fatal('The secret of the database was changed, so this gateway stops. Start it with the new BERTH_SECRET.')
    process.exitCode = 1
    process.kill(process.pid, 'SIGTERM')
  }
  const app = createApp({ ...config, ...server.urls, ...doors, build, proxies, log, secret, onChangedSecret })
  const http = createHttpServer(app.fetch, app)
  const shutdowns = [http, ...(notebookDoor ? [notebookDoor.server] : [])].map(createShutdown)

  const stop = async () => {
    app.markNotReady()
    for (const { disableKeepAlive } of shutdowns) disableKeepAlive()
    sshDoor?.close()
    if (isServing) {
      log.info({ signal: signals.first(), drainSeconds: drainMs / 1_000 }, 'The gateway was told to stop, and drains.')
      await drained
    }
    const closed = Promise.all(shutdowns.map(({ close }) => close(requestGraceMs)))
    app.drain()
    await closed
    await Promise.race([app.stop(), sleep(disconnectGraceMs)])
    await Promise.all([Promise.race([sendLastSpans(), sleep(lastSpansMs)]), server.release()])
  }
  const stopAndLog = async () => {
    try {
      await stop()
      if (isServing) log.info('The gateway has stopped.')
    } catch (error) {
      log.error({ err: error }, 'Stopping failed.')
      process.exitCode = 1
    }
  }
  // A stop may have been requested while the database was created. Migrating and seeding would take longer still.
  if (signals.requested.aborted) return await stopAndLog()
  try {
    const demoKey = await app.start()
    const hasAccounts = await retryUncertain(app.operations.accounts.hasAny)
    await (door ? listenAt(http, door) : listen(http, port, host))
    if (app.ssh) sshDoor?.serveWith(app.ssh.serve)
    if (app.notebooks) notebookDoor?.serveWith(app.notebooks)
    app.startWork()
    // The address of a server that listens on a port is an AddressInfo.
    const address = http.address() as AddressInfo
    const greeting = greet(address, {
      version: build.version,
      ...{ graphiql, demoKey, demoKeyFile, hasAccounts, sshProxy, hostKey: app.ssh?.fingerprint(), notebookProxy },
      isTerminal: process.stdout.isTTY,
    })
    process.stdout.write(greeting)
    isServing = true
    log.info({ ...build, pid: process.pid, port: address.port }, 'The gateway has started.')
  } catch (error) {
    await stopAndLog()
    throw error
  }
  await stopRequested
  await stopAndLog()
}

/**
 * Takes the SSH port before the slow part of a start, since answers name it. Clients are turned away until the gateway
 * serves them.
 */
async function openSshDoor(port: number, host: string) {
  let serve: (socket: Socket) => void = socket => socket.destroy()
  const server = createServer(socket => serve(socket))
  await listen(server, port, host, 'SSH_PORT')
  return {
    port: (server.address() as AddressInfo).port,
    serveWith(handler: (socket: Socket) => void) {
      serve = handler
    },
    close: () => void server.close(),
  }
}

/** Takes the notebook port, as `openSshDoor` does. */
async function openNotebookDoor(port: number, host: string, proxies: TrustedProxies) {
  const door = createNotebookServer(proxies)
  await listen(door.server, port, host, 'NOTEBOOK_PORT')
  const { port: taken } = door.server.address() as AddressInfo
  // Browsers take each name under localhost for this machine.
  return { ...door, localProxy: { protocol: 'http' as const, host: `localhost:${taken}` } }
}
