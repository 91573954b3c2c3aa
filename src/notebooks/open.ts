import type { Logger } from 'pino'
import type { NotebookAccess, NotebookServices } from '../services/instances/notebooks/services.ts'
import type { NotebookLimits } from './limits.ts'

export type OpenRequest = {
  isSocket: boolean
  /** What let it in. Undefined before that. */
  access?: NotebookAccess
  end(): void
}

export type OpenRequests = ReturnType<typeof watchOpen>
type OpenOptions = { notebooks: NotebookServices; limits: NotebookLimits; log: Logger }

/** What is open. Ends it when its instance no longer runs, or has another token. */
export function watchOpen({ notebooks, limits, log }: OpenOptions) {
  const open = new Set<OpenRequest>()
  let isChecking = false
  const timer = setInterval(() => void endForbidden(), limits.checkMs)
  timer.unref()

  async function endForbidden(): Promise<void> {
    const checked = [...open].flatMap(one => (one.access ? [{ one, allowed: one.access }] : []))
    if (isChecking || checked.length === 0) return
    isChecking = true
    try {
      const ids = new Set(checked.map(({ allowed }) => allowed.container.instanceId))
      const found = await notebooks.findAll([...ids])
      for (const { one, allowed } of checked) {
        const now = found.get(allowed.container.instanceId)
        if (now?.token !== allowed.token || now.refusal !== undefined) one.end()
      }
    } catch (error) {
      log.warn({ err: error }, 'Open requests to notebooks could not be checked. They stay open.')
    } finally {
      isChecking = false
    }
  }

  return {
    add: (one: OpenRequest) => void open.add(one),
    remove: (one: OpenRequest) => void open.delete(one),
    count: () => open.size,
    /** Whether the instance or its account has as much open as it may. Little is open at once. */
    isFull({ container: { instanceId, accountId } }: NotebookAccess): boolean {
      const count = (isSame: (other: NotebookAccess) => boolean) =>
        [...open].filter(({ access }) => access && isSame(access)).length
      return (
        count(({ container }) => container.instanceId === instanceId) >= limits.connectionsPerInstance ||
        count(({ container }) => container.accountId === accountId) >= limits.connectionsPerAccount
      )
    },
    stop() {
      clearInterval(timer)
      for (const { isSocket, end } of open) if (isSocket) end()
    },
  }
}
