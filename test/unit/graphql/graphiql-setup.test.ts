import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { setupScript } from '../../../src/graphql/graphiql/browser.ts'

/** As a browser's: its names are those that it keeps. */
function storageOf(kept: Record<string, string>) {
  const methods = {
    getItem: (name: string) => kept[name] ?? null,
    setItem: (name: string, text: string) => Object.assign(kept, { [name]: text }),
    removeItem: (name: string) => delete kept[name],
    clear: () => Object.keys(kept).forEach(methods.removeItem),
  }
  return new Proxy(kept, { get: (_, name) => methods[name as keyof typeof methods] ?? kept[name as string] })
}

it('removes what earlier versions kept, and nothing of other pages', () => {
  const kept = { berth: 'x', 'graphiql:tabState': '{"headers":"Bearer berth_key"}', cart: 'three apples' }
  runInNewContext(setupScript, {
    location: { hash: '', pathname: '/graphql', search: '' },
    addEventListener() {},
    localStorage: storageOf(kept),
    sessionStorage: storageOf({}),
    document: {
      getElementById: () => ({ textContent: '{"defaultTabs":[]}' }),
      currentScript: { src: 'http://berth.test/graphiql/x/graphiql.js' },
    },
    self: {},
    URL,
  })
  expect(kept).toEqual({ cart: 'three apples' })
})
