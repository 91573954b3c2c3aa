import { parseApiKey } from '../../domain/accounts/api-keys.ts'
import { answerAsset } from '../../http/asset.ts'
import { jsonResponse } from '../../http/json.ts'
import { isLoopback } from '../../http/listen.ts'
import type { Handler } from '../../http/router.ts'
import { loadAssets } from './assets.ts'
import { tabs } from './tabs.ts'

/**
 * The GraphiQL page for trying the API. The gateway serves all its files, so it works offline. It fills in the demo key,
 * if there is one, only for a browser on this machine.
 */
export function createGraphiql(apiKey: () => string | undefined): { page: Handler; file: Handler } {
  return {
    page: async request => {
      const { folder } = await loadAssets()
      const key = (isLocalRequest(request) && apiKey()) || 'YOUR_API_KEY'
      return new Response(renderPage(folder, key), {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'cache-control': 'no-store',
          'content-security-policy': contentSecurityPolicy,
        },
      })
    },
    file: async (request, { path }) => {
      const { byPath } = await loadAssets()
      const asset = byPath.get(path)
      if (!asset) return jsonResponse(404, { success: false, error: 'not_found', msg: `There is no ${path} here.` })
      return await answerAsset(request, asset, { 'cache-control': 'public, max-age=31536000, immutable' })
    },
  }
}

/** GraphiQL's editor adds inline styles, and its style sheet embeds fonts and images as `data:` URLs. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function renderPage(folder: string, key: string): string {
  const headers = JSON.stringify({ Authorization: `Bearer ${key}` }, null, 2)
  const settings = {
    publicId: parseApiKey(key)?.publicId ?? '',
    options: {
      title: 'Berth',
      defaultTabs: tabs.map(tab => ({ ...tab, headers })),
      defaultHeaders: headers,
      shouldPersistHeaders: true,
      // Opens the variables, which the user edits. The headers are filled in already.
      defaultEditorToolsVisibility: 'variables',
      schemaDescription: true,
      subscriptionsProtocol: 'SSE',
    },
  }
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Berth</title>
<link rel="icon" href="${folder}/favicon.ico">
<link rel="stylesheet" href="${folder}/graphiql.css">
</head>
<body class="no-focus-outline">
<noscript>GraphiQL needs JavaScript.</noscript>
<div id="root"></div>
<script type="application/json" id="berth">${JSON.stringify(settings).replaceAll('<', '\\u003c')}</script>
<script src="${folder}/graphiql.js"></script>
</body>
</html>
`
}

/**
 * A foreign page whose domain resolves to this machine (DNS rebinding) sends its own name as Host, and must not get the key.
 * A proxy on this machine may send a loopback Host for a remote client; its forwarding headers reveal that.
 */
function isLocalRequest({ url, headers }: Request): boolean {
  const isForwarded = [...headers.keys()].some(name => /^(forwarded|via|x-real-ip|x-forwarded-.*)$/.test(name))
  return !isForwarded && isLoopback(new URL(url).hostname)
}
