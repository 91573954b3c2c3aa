import type { HttpRequest } from '../measure/connection.ts'

/** Sends a GraphQL request. Berth gets the key of an account, and the others get none. */
export function graphqlRequest(query: string, variables: object, account?: number): HttpRequest {
  const authorization = account === undefined ? {} : authorizationOf(account)
  const body = JSON.stringify({ query, variables })
  return { method: 'POST', path: '/graphql', headers: { 'content-type': 'application/json', ...authorization }, body }
}

export function restRequest(method: string, path: string, account: number, body?: object): HttpRequest {
  const headers = { 'content-type': 'application/json', ...authorizationOf(account) }
  return { method, path: `/api/v0/${path}`, headers, ...(body && { body: JSON.stringify(body) }) }
}

/** The values are the parameters of the statement. */
export function floorRequest(path: string, values: unknown[]): HttpRequest {
  return { method: 'POST', path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(values) }
}

/** The keys that test/bench/setup/sql/machines.sql stores. */
function authorizationOf(account: number) {
  const [publicId, secret] = [`bench${String(account).padStart(7, '0')}`, String(account).padStart(4, '0').repeat(10)]
  return { authorization: `Bearer berth_${publicId}_${secret}` }
}

/** The number in an id of Berth, such as off_42. */
export function numberOfId(id: string): number {
  return Number(id.slice(id.indexOf('_') + 1))
}

/** Dollars as Berth prints them, in nano-dollars. */
export function nanosOf(dollars: string): number {
  return Math.round(Number(dollars) * 1e9)
}
