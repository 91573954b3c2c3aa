import { type Asset, answerAsset, createAsset } from '../http/asset.ts'
import { printedJsonResponse } from '../http/json.ts'
import { printJsonInTurns } from '../turns/print-json.ts'
import type { Route } from './route.ts'

/** A page loads nothing. Plain text may come from renters, so browsers must not run it as a page. */
const contentSecurityPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type PrintedRoute = Pick<Route, 'produces' | 'scriptHash'>

/** A success in the content type of its route. */
export async function successResponse(route: PrintedRoute, result: unknown): Promise<Response> {
  if (!route.produces) return printedJsonResponse(200, await printJsonInTurns(result))
  return new Response(String(result), {
    headers: { ...headersOf(route), 'cache-control': 'no-store' },
  })
}

const assets = new WeakMap<Route, Promise<Asset>>()

/** The success of a fixed route. */
export async function fixedResponse(route: Route, request: Request, answer: () => Promise<unknown>): Promise<Response> {
  const { 'content-type': _, ...headers } = fixedHeadersOf(route)
  // Another version of the gateway may answer next, so caches must revalidate.
  return await answerAsset(request, await fixedAsset(route, answer), {
    ...headers,
    'cache-control': 'public, no-cache',
  })
}

/** The text of a fixed route, plain and compressed. `answer` is called once. */
export function fixedAsset(route: Route, answer: () => Promise<unknown>): Promise<Asset> {
  const type = fixedHeadersOf(route)['content-type']
  const asset = assets.get(route) ?? renderResult(route, answer).then(bytes => createAsset(bytes, type))
  assets.set(route, asset)
  return asset
}

function fixedHeadersOf(route: Route) {
  return route.produces ? headersOf(route) : { 'content-type': 'application/json' }
}

async function renderResult({ produces }: Route, answer: () => Promise<unknown>): Promise<Uint8Array> {
  const result = await answer()
  return Buffer.from(produces ? String(result) : JSON.stringify(result))
}

function headersOf({ produces, scriptHash }: PrintedRoute) {
  return {
    // Without a charset, clients assume Latin-1.
    'content-type': `${produces}; charset=utf-8`,
    'content-security-policy': `${contentSecurityPolicy}${scriptHash ? `; script-src '${scriptHash}'` : ''}`,
  }
}
