// One successful request for every route, with the data that it needs.

import { randomUUID } from 'node:crypto'
import { findRoutes } from '../../../src/rest/paths.ts'
import type { Route } from '../../../src/rest/route.ts'
import { aPublicKey } from '../accounts/ssh-keys.ts'
import type { TestApp } from '../app.ts'
import { type Agreement, type AgreementSite, agreements } from '../faces/agreements.ts'
import { makersOf, routeCases } from '../faces/isolation.ts'

export type Example = { method: string; path: string; body?: object }

/** Examples that no other table has. */
const otherExamples: Record<string, (site: AgreementSite) => Promise<Example> | Example> = {
  'PUT /api/v0/search/asks/': () => ({ method: 'PUT', path: '/search/asks/', body: { q: { num_gpus: { gte: 1 } } } }),
  'PUT /api/v0/launch_instance/': async ({ rentals }) => {
    const offerId = await rentals.newOffer()
    return { method: 'PUT', path: '/launch_instance/', body: { image: 'ubuntu', q: { id: { eq: offerId } } } }
  },
  'PUT /api/v0/secrets/': async ({ app, key }) => {
    await app.rest(key, 'POST', '/secrets/', { key: 'A', value: 'x' })
    return { method: 'PUT', path: '/secrets/', body: { key: 'A', value: 'y' } }
  },
  'DELETE /api/v0/instances/{id}/ssh/{key}/': async ({ app, rentals, key }) => {
    const { body } = await app.rest(key, 'POST', '/ssh/', { ssh_key: aPublicKey(randomUUID()) })
    return { method: 'DELETE', path: `/instances/${await rentals.rent(key)}/ssh/${body.key.id}/` }
  },
  'GET /api/v0/machines/{id}/': async site => {
    const id = await makersOf(site.app, site.rentals).machine(site.key)
    await makeHostOfMachine(site, id)
    return { method: 'GET', path: `/machines/${id}/` }
  },
  'PUT /api/v0/template/': site => createResaveExample(site, '/template/'),
  'PUT /api/v1/template/': site => createResaveExample(site, '/api/v1/template/'),
  'GET /api/v0/results/': async ({ app, key, rentals }) => {
    const id = await rentals.rent(key)
    const { body } = await app.rest(key, 'PUT', `/instances/request_logs/${id}/`, {})
    return { method: 'GET', path: `/results/${new URL(body.result_url).search}` }
  },
}

/** Makes the account the host of a machine. */
export async function makeHostOfMachine(
  { app, key }: Pick<AgreementSite, 'app' | 'key'>,
  id: number | undefined,
): Promise<void> {
  const { body } = await app.rest(key, 'GET', '/users/current')
  await app.sql(`UPDATE machines SET host_id = ${body.id} WHERE id = ${id}`)
}

async function createResaveExample({ app, key }: AgreementSite, path: string): Promise<Example> {
  const { body } = await app.rest(key, 'POST', '/template/', { name: 'T', image: 'ubuntu' })
  return { method: 'PUT', path, body: { hash_id: body.template.hash_id, name: 'U', image: 'ubuntu' } }
}

/** Creates the data that the request needs, and returns the request. */
export async function createExample(route: Route, site: AgreementSite): Promise<Example> {
  const name = `${route.method} ${route.path}`
  const other = otherExamples[name]
  if (other) return await other(site)
  const routeCase = routeCases[name]
  if (routeCase) {
    const id = await makersOf(site.app, site.rentals)[routeCase.of](site.key)
    let example: Example | undefined
    const rest: TestApp['rest'] = async (_key, method, path, body) => {
      example = { method, path, ...(body === undefined ? {} : { body: body as object }) }
      return { status: 0, headers: new Headers(), body: undefined }
    }
    await routeCase.ask({ ...site.app, rest }, site.key, id)
    return example as Example
  }
  const agreement = route.operation && agreements[route.operation]
  const targetsRoute = ([method, path]: ReturnType<Agreement['rest']>) => {
    const pathname = path.replace(/\?.*/, '').replace(/^(?!\/api)/, '/api/v0')
    return method === route.method && findRoutes([route], pathname).routes.length > 0
  }
  // Builds the request without data first, to see which route of the operation it uses.
  if (agreement && targetsRoute(agreement.rest({}, site))) {
    const [method, path, body] = agreement.rest((await agreement.prepare?.(site)) ?? {}, site)
    return { method, path, ...(body && { body }) }
  }
  return { method: route.method, path: route.path, ...(route.method === 'GET' ? {} : { body: {} }) }
}
