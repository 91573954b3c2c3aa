import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
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

type Visit = { hash?: string; local?: Record<string, string>; session?: Record<string, string>; agrees?: boolean }

/** Runs the script as a page does. Returns what the page asked, and the address that it has then. */
function visit({ hash = '', local = {}, session = {}, agrees = false }: Visit) {
  const asked: string[] = []
  let address = `/graphql${hash}`
  runInNewContext(setupScript, {
    location: { hash, pathname: '/graphql', search: '' },
    history: { replaceState: (_state: null, _title: string, url: string) => (address = url) },
    confirm(question: string) {
      asked.push(`${question} ${address}`)
      return agrees
    },
    addEventListener() {},
    localStorage: storageOf(local),
    sessionStorage: storageOf(session),
    document: {
      getElementById: () => ({ textContent: '{"defaultTabs":[]}' }),
      currentScript: { src: 'http://berth.test/graphiql/x/graphiql.js' },
    },
    self: {},
    URL,
  })
  return { asked, address }
}

it('removes what earlier versions kept, and nothing of other pages', () => {
  const local = { berth: 'x', 'graphiql:tabState': '{"headers":"Bearer berth_key"}', cart: 'three apples' }
  visit({ local })
  expect(local).toEqual({ cart: 'three apples' })
})

describe('the key of a link', () => {
  const tabState = '{"tabs":[{"headers":"Bearer berth_own"}],"activeTabIndex":0}'
  const sessionWith = (key: string) => ({
    'berth:key': key,
    'berth:bearer': `Bearer ${key}`,
    'graphiql:tabState': tabState.replace('berth_own', key),
  })

  it.each([
    ['the first of its tab', {}],
    ['the one that its tab has', sessionWith('berth_own')],
  ])('is taken without a question if it is %s', (_name, session: Record<string, string>) => {
    expect(visit({ hash: '#key=berth_own', session })).toEqual({ asked: [], address: '/graphql' })
    expect(session['berth:key']).toBe('berth_own')
  })

  it.each([
    [true, 'berth_other'],
    [false, 'berth_own'],
  ])('replaces another one only if the visitor agrees: %s', (agrees, kept) => {
    const session = sessionWith('berth_own')
    const { asked, address } = visit({ hash: '#key=berth_other', session, agrees })
    expect(asked).toEqual([expect.stringMatching(/^This link has another API key, .* \/graphql$/)])
    expect(address).toBe('/graphql')
    expect(session).toMatchObject(sessionWith(kept))
  })

  it('is ignored if it is none', () => {
    const session = sessionWith('berth_own')
    expect(visit({ hash: '#key=none', session, agrees: true })).toEqual({ asked: [], address: '/graphql' })
    expect(session).toMatchObject(sessionWith('berth_own'))
  })
})
