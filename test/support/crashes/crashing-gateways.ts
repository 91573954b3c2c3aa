import type { Provider } from '../../../src/providers/provider.ts'
import { openGateway } from '../gateways.ts'

/** Ways in which a call of the provider fails or kills its gateway. */
export const crashModes: Record<string, (act: () => Promise<unknown>, die: () => Promise<never>) => Promise<unknown>> =
  {
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

/** A gateway that crashes at the given call of its provider. */
export function openCrashingGateway(url: string, now: () => Date, crashAtCall: number, crashMode: string) {
  let calls = 0
  let resolveCrashed = () => {}
  const crashed = new Promise<void>(resolve => {
    resolveCrashed = resolve
  })
  const die = () => {
    resolveCrashed()
    return new Promise<never>(() => {})
  }
  const wrapProvider = (provider: Provider): Provider => {
    const callOrCrash = async (act: () => Promise<unknown>) => {
      calls += 1
      return calls === crashAtCall ? await crashModes[crashMode]?.(act, die) : await act()
    }
    return {
      ...provider,
      observe: async (...args) => (await callOrCrash(() => provider.observe(...args))) as never,
      ensure: async (...args) => void (await callOrCrash(() => provider.ensure(...args))),
      setSshKeys: async (...args) => void (await callOrCrash(() => provider.setSshKeys(...args))),
      start: async (...args) => void (await callOrCrash(() => provider.start(...args))),
      stop: async (...args) => void (await callOrCrash(() => provider.stop(...args))),
      remove: async (...args) => void (await callOrCrash(() => provider.remove(...args))),
    }
  }
  const gateway = openGateway({ url, now, wrapProvider })
  return {
    /** Resolves when the gateway is idle or has crashed. */
    idle: () => Promise.race([gateway.idle(), crashed]),
    hasReachedCall: () => calls >= crashAtCall,
    close: () => gateway.database.close(),
  }
}
