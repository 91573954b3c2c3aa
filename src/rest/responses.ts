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

/** The success of a fixed route. `answer` is called once. Its text is then cached, plain and compressed. */
export async function fixedResponse(route: Route, request: Request, answer: () => Promise<unknown>): Promise<Response> {
  const { produces } = route
  const { 'content-type': type, ...headers } = produces ? headersOf(produces) : { 'content-type': 'application/json' }
  const asset = assets.get(route) ?? renderResult(route, answer).then(bytes => createAsset(bytes, type))
  assets.set(route, asset)
  // Another version of the gateway may answer next, so caches must revalidate.
  return await answerAsset(request, await asset, { ...headers, 'cache-control': 'public, no-cache' })
}

async function renderResult({ produces }: Route, answer: () => Promise<unknown>): Promise<Uint8Array> {
  const result = await answer()
  return Buffer.from(produces ? String(result) : JSON.stringify(result))
}

function headersOf(produces: NonNullable<Route['produces']>) {
  // Without a charset, clients assume Latin-1.
  return { 'content-type': `${produces}; charset=utf-8`, 'content-security-policy': contentSecurityPolicy }
}
