import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import ssh2, { type Connection } from 'ssh2'
import type { Provider } from '../providers/provider.ts'
import type { SshLogin, SshLogins } from '../services/instances/ssh/logins.ts'
import { createAuthenticator } from './authentication.ts'
import { serveChannels } from './channels.ts'
import type { SshLimits } from './limits.ts'
import { createMachine } from './machine.ts'
import type { LoginOutcome } from './metrics.ts'

export type ConnectionDeps = {
  hostKey: string
  logins: Pick<SshLogins, 'find' | 'access'>
  provider: Pick<Provider, 'open' | 'connect'>
  limits: SshLimits
  log: Logger
}
export type ConnectionListeners = {
  onRefusal(): void
  onClose(outcome: LoginOutcome): void
}
export type OpenConnection = {
  /** Undefined before the client has logged in. */
  login(): SshLogin | undefined
  /** Ends the connection with a message to its sessions. */
  end(message: string): void
}

/** Serves one client from its first byte to its last. */
export function serveConnection(socket: Socket, deps: ConnectionDeps, listeners: ConnectionListeners): OpenConnection {
  const { hostKey, logins, provider, limits, log } = deps
  const { keepaliveMs, keepalives, loginMs, machineMs, farewellMs, graceMs } = limits
  const start = performance.now()
  const address = socket.remoteAddress
  const gone = new Promise<void>(resolve => socket.once('close', () => resolve()))
  let login: SshLogin | undefined
  let refusals = 0
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
      onLogin(found) {
        login = found
        clearTimeout(loginTimer)
      },
      onRefusal() {
        refusals += 1
        listeners.onRefusal()
      },
    })
    client.on('authentication', attempt => void authenticate(attempt))
    client.once('ready', () => {
      if (!login) return leave()
      const machine = createMachine({ login, logins, provider, machineMs, log })
      endSessions = serveChannels(client, { machine, socket, limits })
    })
  }

  void gone.then(() => {
    clearTimeout(loginTimer)
    const outcome = login ? 'accepted' : refusals > 0 ? 'refused' : 'unfinished'
    const ms = Math.round(performance.now() - start)
    const known = login && { instanceId: String(login.instanceId), fingerprint: login.fingerprint }
    log.info({ ...known, address, outcome, refusals, ms }, 'ssh')
    listeners.onClose(outcome)
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
    login: () => login,
    end(message) {
      endSessions(message)
      // A client drops what it has not printed when the connection ends. Most end it themselves after their session.
      setTimeout(() => leave(), farewellMs).unref()
    },
  }
}
