import { type Asset, answerAsset, createAsset } from '../http/asset.ts'
import { printedJsonResponse } from '../http/json.ts'
import { printJsonInTurns } from '../turns/print-json.ts'
import type { Route } from './route.ts'

/** The page loads and runs nothing. Plain text may come from renters, so browsers must not run it as a page. */
const contentSecurityPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** A success in the content type of its route. */
export async function successResponse({ produces }: Pick<Route, 'produces'>, result: unknown): Promise<Response> {
  if (!produces) return printedJsonResponse(200, await printJsonInTurns(result))
  return new Response(String(result), {
    headers: { ...headersOf(produces), 'cache-control': 'no-store' },
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

function fixedHeadersOf({ produces }: Route) {
  return produces ? headersOf(produces) : { 'content-type': 'application/json' }
}

async function renderResult({ produces }: Route, answer: () => Promise<unknown>): Promise<Uint8Array> {
  const result = await answer()
  return Buffer.from(produces ? String(result) : JSON.stringify(result))
}

function headersOf(produces: NonNullable<Route['produces']>) {
  // Without a charset, clients assume Latin-1.
  return { 'content-type': `${produces}; charset=utf-8`, 'content-security-policy': contentSecurityPolicy }
}
