// Checks who logs in. Only public keys can log in. Every other attempt is refused with the same answer, after the same
// time: a client does not learn whether the instance exists, or which key it has.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import ssh2, { type AuthContext, type PublicKeyAuthContext } from 'ssh2'
import type { SshLogin, SshLogins } from '../services/instances/ssh/logins.ts'
import type { SshLimits } from './limits.ts'

/** A client that goes on asking whether keys would do, and never logs in, is cut off. */
const maxProbes = 20

type AuthenticatorOptions = {
  logins: Pick<SshLogins, 'find'>
  limits: Pick<SshLimits, 'attempts' | 'refusalMs'>
  log: Logger
  /** Called when a signature proved the key of an allowed login. The client has no answer yet. */
  onLogin(login: SshLogin): void
  onRefusal(): void
  /** Ends the connection. */
  leave(): void
}

/** Answers the attempts of one connection, which come one after another. */
export function createAuthenticator(options: AuthenticatorOptions): (attempt: AuthContext) => Promise<void> {
  const { logins, limits, log, onLogin, onRefusal, leave } = options
  let hasAsked = false
  let refusals = 0
  let probes = 0
  let hasLeft = false

  async function findLogin(attempt: AuthContext): Promise<SshLogin | undefined> {
    const offered = attempt.method === 'publickey' && isStrong(attempt) ? attempt : undefined
    const login = await logins.find(attempt.username, offered?.key.data)
    return offered && (isProbe(offered) || isSignatureValid(offered)) ? login : undefined
  }

  function endConnection(): void {
    hasLeft = true
    leave()
  }

  return async attempt => {
    // The client sent this before it read that the connection ends.
    if (hasLeft) return
    // Clients begin with this to learn the methods.
    if (attempt.method === 'none' && !hasAsked) {
      hasAsked = true
      attempt.reject(['publickey'])
      return
    }
    const start = performance.now()
    const login = await findLogin(attempt).catch((error: unknown) => {
      log.error({ err: error }, 'An SSH login could not be checked.')
      return undefined
    })
    if (login && attempt.method === 'publickey') {
      if (!isProbe(attempt)) onLogin(login)
      else probes += 1
      attempt.accept()
      if (probes > maxProbes) endConnection()
      return
    }
    onRefusal()
    refusals += 1
    await sleep(Math.max(0, limits.refusalMs - (performance.now() - start)))
    attempt.reject(['publickey'])
    if (refusals >= limits.attempts) endConnection()
  }
}

/** Whether the client only asks if the key would do. */
function isProbe({ signature }: PublicKeyAuthContext): boolean {
  return signature === undefined
}

/** RSA without the name of a hash means SHA-1. */
function isStrong({ key, hashAlgo }: PublicKeyAuthContext): boolean {
  return key.algo !== 'ssh-rsa' || hashAlgo !== undefined
}

function isSignatureValid({ key, blob, signature, hashAlgo }: PublicKeyAuthContext): boolean {
  const parsed = ssh2.utils.parseKey(key.data)
  if (parsed instanceof Error || parsed.type !== key.algo || !blob || !signature) return false
  return parsed.verify(blob, signature, hashAlgo) === true
}
