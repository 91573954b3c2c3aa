import { answerAsset } from '../../http/asset.ts'
import { jsonResponse } from '../../http/json.ts'
import type { Handler } from '../../http/router.ts'
import { loadAssets } from './assets.ts'
import { cleanUpTab } from './clean-up.ts'
import { handedOn, titleOf } from './hand-on.ts'
import { keyForm } from './key-form.ts'
import { tabs } from './tabs.ts'

/**
 * The GraphiQL page for trying the API. The gateway serves all its files, so it works offline. The page is the same for
 * everybody: a key never comes from the gateway, but from the link or its reader.
 */
export function createGraphiql(): { page: Handler; file: Handler } {
  return {
    page: async () => {
      const { folder } = await loadAssets()
      return new Response(renderPage(folder), {
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

const options = {
  title: 'Berth',
  defaultTabs: tabs,
  shouldPersistHeaders: true,
  // Opens the variables, which the user edits. The headers are filled in already.
  defaultEditorToolsVisibility: 'variables',
  schemaDescription: true,
  subscriptionsProtocol: 'SSE',
  handOn: {
    handedOn,
    variablesByTitle: Object.fromEntries(tabs.map(tab => [titleOf(tab), tab.variables])),
    cleanUp: { title: titleOf(cleanUpTab), query: cleanUpTab.query },
  },
}

function renderPage(folder: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth</title>
<link rel="icon" href="${folder}/favicon.ico">
<link rel="stylesheet" href="${folder}/graphiql.css">
</head>
<body class="no-focus-outline">
<noscript>GraphiQL needs JavaScript.</noscript>
${keyForm}
<div id="root"></div>
<script type="application/json" id="berth">${JSON.stringify(options).replaceAll('<', '\\u003c')}</script>
<script src="${folder}/graphiql.js"></script>
</body>
</html>
`
}
