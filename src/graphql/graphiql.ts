import { parseApiKey } from '../domain/api-keys.ts'
import type { Handler } from '../http/context.ts'
import { isLoopback } from '../http/loopback.ts'
import { tabs } from './graphiql-tabs.ts'

/**
 * The page for trying things out. All of it is served from here, so it works without a network. The key, if there is one
 * to give away, is filled in only for a browser on this machine.
 */
export function createGraphiql(apiKey: () => string | undefined): Handler {
  return async request => {
    // Loaded when first asked for: it is larger than everything else together.
    const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
    const key = (isFromHere(request) && apiKey()) || 'YOUR_API_KEY'
    const headers = JSON.stringify({ Authorization: `Bearer ${key}` }, null, 2)
    const page = renderGraphiQL({
      title: 'Berth',
      defaultTabs: tabs.map(tab => ({ ...tab, headers })),
      defaultHeaders: headers,
      shouldPersistHeaders: true,
      defaultEditorToolsVisibility: 'headers',
      schemaDescription: true,
      subscriptionsProtocol: 'SSE',
    })
    return new Response(page.replace('<div id="root">', `${stillTabs}${restoreTabs(key)}$&`), {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy':
          "default-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; frame-ancestors 'none'",
      },
    })
  }
}

/**
 * A page elsewhere that makes its own name point here sends that name, and must not read the key. A proxy on this machine
 * may write our own name into the Host header; that somebody else asks shows in what it adds.
 */
function isFromHere({ url, headers }: Request): boolean {
  const isForwarded = [...headers.keys()].some(name => /^(forwarded|via|x-real-ip|x-forwarded-.*)$/.test(name))
  return !isForwarded && isLoopback(new URL(url).hostname)
}

/**
 * On a first visit GraphiQL moves a tab from under the pointer that presses it, and the click goes beside. Tabs can still
 * be dragged to another place; they only do not follow the pointer there.
 */
const stillTabs = '<style>.graphiql-tab { transform: none !important }</style>'

/**
 * Runs before GraphiQL. The browser keeps its tabs with their headers: after a new start on new data the key in them is
 * nobody's, so they go. And GraphiQL adds an empty tab unless what it worked on last is one of its tabs.
 */
function restoreTabs(key: string): string {
  const publicId = JSON.stringify(parseApiKey(key)?.publicId ?? '')
  return `<script>
    if (localStorage.getItem('berth') !== ${publicId}) localStorage.clear()
    localStorage.setItem('berth', ${publicId})
    const { tabs = [], activeTabIndex } = JSON.parse(localStorage.getItem('graphiql:tabState') ?? '{}')
    for (const part of ['query', 'variables', 'headers']) {
      if (tabs.length > 0) localStorage.setItem('graphiql:' + part, tabs[activeTabIndex]?.[part] ?? '')
    }
  </script>`
}
