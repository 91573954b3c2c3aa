// Ends the connections whose logins are no longer allowed: their key was removed, or their instance was destroyed.

import type { Logger } from 'pino'
import type { SshLogins } from '../services/instances/ssh/logins.ts'
import type { OpenConnection } from './connection.ts'

type EndingsOptions = {
  open: ReadonlyMap<unknown, OpenConnection>
  logins: Pick<SshLogins, 'findEnded'>
  checkMs: number
  log: Logger
}

/** Checks every `checkMs`. Returns a function that ends this. */
export function watchForEndings({ open, logins, checkMs, log }: EndingsOptions): () => void {
  let isChecking = false

  async function check(): Promise<void> {
    const checked = [...open.values()].flatMap(connection => {
      const login = connection.login()
      return login ? [{ connection, login }] : []
    })
    if (isChecking || checked.length === 0) return
    isChecking = true
    try {
      const ended = await logins.findEnded(checked.map(({ login }) => login))
      for (const [index, message] of ended) checked[index]?.connection.end(message)
    } catch (error) {
      log.warn({ err: error }, 'Open SSH connections could not be checked. They stay open.')
    } finally {
      isChecking = false
    }
  }

  const timer = setInterval(() => void check(), checkMs)
  timer.unref()
  return () => clearInterval(timer)
}
