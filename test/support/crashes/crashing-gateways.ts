import type { Provider } from '../../../src/providers/provider.ts'
import { openGateway } from '../gateways.ts'

/** How a gateway dies at a call of its driver. */
export const deaths: Record<string, (act: () => Promise<unknown>, die: () => Promise<never>) => Promise<unknown>> = {
  'fails before it acts': async () => {
    throw new Error('The machine does not answer.')
  },
  'fails after it acted': async act => {
    await act()
    throw new Error('The machine does not answer.')
  },
  'dies before it acts': (_, die) => die(),
  'dies after it acted': async (act, die) => {
    await act()
    return await die()
  },
}

/** Lives until its driver is called for the n-th time. */
export function openMortal(url: string, now: () => Date, lastCall: number, death: string) {
  let calls = 0
  let died = () => {}
  const end = new Promise<void>(resolve => {
    died = resolve
  })
  const die = () => {
    died()
    return new Promise<never>(() => {})
  }
  const between = (provider: Provider): Provider => {
    const mortal = async (act: () => Promise<unknown>) => {
      calls += 1
      return calls === lastCall ? await deaths[death]?.(act, die) : await act()
    }
    return {
      observe: async (...args) => (await mortal(() => provider.observe(...args))) as never,
      ensure: async (...args) => void (await mortal(() => provider.ensure(...args))),
      authorise: async (...args) => void (await mortal(() => provider.authorise(...args))),
      start: async (...args) => void (await mortal(() => provider.start(...args))),
      stop: async (...args) => void (await mortal(() => provider.stop(...args))),
      remove: async (...args) => void (await mortal(() => provider.remove(...args))),
      logs: provider.logs,
      exec: provider.exec,
    }
  }
  const mortal = openGateway({ url, now, between })
  return {
    /** As far as it comes. */
    idle: () => Promise.race([mortal.idle(), end]),
    reached: () => calls >= lastCall,
    close: () => mortal.database.close(),
  }
}
