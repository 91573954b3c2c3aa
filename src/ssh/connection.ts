import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import ssh2, { type Connection } from 'ssh2'
import type { Provider } from '../providers/provider.ts'
import type { SshLogin, SshLogins } from '../services/instances/ssh/logins.ts'
import { createAuthenticator } from './authentication.ts'
import { serveChannels } from './channels.ts'
import type { SshLimits } from './limits.ts'
import { createMachine, createRefusingMachine } from './machine.ts'
import type { LoginOutcome } from './metrics.ts'

export type ConnectionDeps = {
  hostKey: string
  logins: Pick<SshLogins, 'find' | 'access'>
  provider: Pick<Provider, 'open' | 'connect'>
  limits: SshLimits
  log: Logger
}
export type ConnectionListeners = {
  /** Returns why the login is one too many, or undefined. */
  onLogin(login: SshLogin): string | undefined
  onRefusal(): void
  /** `login`: one that was not too many. */
  onClose(outcome: LoginOutcome, login: SshLogin | undefined): void
}
export type OpenConnection = {
  /** Undefined before the client has logged in, and if its login was one too many. */
  login(): SshLogin | undefined
  /** Ends the connection with a message to its sessions. */
  end(message: string): void
}

/** Serves one client from its first byte to its last. */
export function serveConnection(socket: Socket, deps: ConnectionDeps, listeners: ConnectionListeners): OpenConnection {
  const { hostKey, logins, provider, limits, log } = deps
  const { keepaliveMs, keepalives, loginMs, machineMs, farewellMs, graceMs, refusedMs } = limits
  const start = performance.now()
  const address = socket.remoteAddress
  const gone = new Promise<void>(resolve => socket.once('close', () => resolve()))
  let known: { login: SshLogin; refusal: string | undefined } | undefined
  let refusals = 0
  const admitted = () => (known?.refusal === undefined ? known?.login : undefined)
  let endSessions = (_message: string) => {}
  /** Ends the connection. A client that does not close it, too, is cut off soon. */
  let leave = () => void socket.destroy()
  const loginTimer = setTimeout(() => socket.destroy(), loginMs)
  socket.setNoDelay(true)
  socket.on('error', () => {})

  const onClient = (client: Connection) => {
    leave = () => {
      client.end()
      setTimeout(() => socket.destroy(), graceMs).unref()
    }
    // ssh2 ends the connection after an error, and waits for the client to do so, too. A client that is gone never does.
    client.on('error', () => leave())
    const authenticate = createAuthenticator({
      ...{ logins, limits, log, leave },
      onLogin(login) {
        // The client left while its login was checked.
        if (socket.closed) return
        known = { login, refusal: listeners.onLogin(login) }
        clearTimeout(loginTimer)
      },
      onRefusal() {
        refusals += 1
        listeners.onRefusal()
      },
    })
    client.on('authentication', attempt => void authenticate(attempt))
    client.once('ready', () => {
      if (!known) return leave()
      const { login, refusal } = known
      const isRefused = refusal !== undefined
      const machine = isRefused
        ? createRefusingMachine(refusal)
        : createMachine({ login, logins, provider, machineMs, log })
      endSessions = serveChannels(client, { machine, socket, limits })
      if (isRefused) setTimeout(() => leave(), refusedMs).unref()
    })
  }

  void gone.then(() => {
    clearTimeout(loginTimer)
    const outcome = admitted() ? 'accepted' : known ? 'limited' : refusals > 0 ? 'refused' : 'unfinished'
    const ms = Math.round(performance.now() - start)
    const who = known && { instanceId: String(known.login.instanceId), fingerprint: known.login.fingerprint }
    log.info({ ...who, address, outcome, refusals, ms }, 'ssh')
    listeners.onClose(outcome, admitted())
  })
  // Compression would let clients make the gateway unpack much from little.
  const settings = { algorithms: { compress: ['none' as const] }, ident: 'Berth' }
  const keepalive = { keepaliveInterval: keepaliveMs, keepaliveCountMax: keepalives }
  new ssh2.Server({ hostKeys: [hostKey], ...settings, ...keepalive }, onClient).injectSocket(socket)
  // ssh2 answers each request at once, also those of a client that reads no answers.
  socket.on('data', () => {
    if (socket.writableLength > limits.unreadBytes) socket.destroy()
  })

  return {
    login: admitted,
    end(message) {
      endSessions(message)
      // A client drops what it has not printed when the connection ends. Most end it themselves after their session.
      setTimeout(() => leave(), farewellMs).unref()
    },
  }
}
