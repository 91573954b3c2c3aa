// For every field and route that takes an idempotency key: its request, and what must exist before it.

import { type GraphQLOutputType, type GraphQLUnionType, getNamedType, isInputObjectType } from 'graphql'
import { schema } from '../../../src/graphql/schema.ts'
import { routes } from '../../../src/rest/routes.ts'
import { aPublicKey } from '../accounts/ssh-keys.ts'
import type { TestApp } from '../app.ts'
import type { Rentals } from '../instances/rentals.ts'
import { templatesOf } from '../templates/templates.ts'
import { volumesOf } from '../volumes/volumes.ts'

export type RepeatableSite = { app: TestApp; rentals: Rentals; owner: string }
/** Creates what the request names and returns its id. */
type Prepare = (site: RepeatableSite) => Promise<number>
type RepeatableCase = {
  prepare?: Prepare
  /** The answer contains a secret that is shown once. */
  hasSecret?: true
  /** An API key with a spend limit is refused. */
  refusesLimited?: true
} & ({ graphql: (id: number) => string } | { rest: (id: number) => [path: string, body: object] })

export function listRepeatableFields(): string[] {
  const fields = Object.values(schema.getMutationType()?.getFields() ?? {})
  const repeatable = fields.filter(({ args }) =>
    args.some(({ type }) => {
      const named = getNamedType(type)
      return isInputObjectType(named) && 'idempotencyKey' in named.getFields()
    }),
  )
  return repeatable.map(({ name }) => name)
}

export function listRepeatableRoutes(): string[] {
  return routes.filter(({ takesIdempotencyKey }) => takesIdempotencyKey).map(({ method, path }) => `${method} ${path}`)
}

const anOffer: Prepare = ({ rentals }) => rentals.newOffer()
const aMachine: Prepare = ({ app }) => volumesOf(app).newMachine()
const anInstance: Prepare = ({ rentals, owner }) => rentals.rentToStatus(owner, 'running')
const spec = 'spec: { source: { image: "ubuntu" } }'
const url = 'https://hooks.invalid/'
const body = { image: 'ubuntu' }

const anApiKey: Prepare = async ({ app, owner }) => {
  const { body } = await app.rest(owner, 'POST', '/auth/apikeys/', { name: 'other' })
  return body.id
}
const aTemplate: Prepare = async ({ app, owner }) =>
  Number((await templatesOf(app).mustCreate(owner)).id.slice('tpl_'.length))
const aWebhook: Prepare = async ({ app, owner }) => {
  const { data } = await app.graphql(
    owner,
    `mutation { createWebhook(input: { url: "${url}", kinds: [INSTANCE_ENDING] }) { ... on CreateWebhookSuccess { webhook { id } } } }`,
  )
  return Number(data.createWebhook.webhook.id.slice('whk_'.length))
}

/** Cases by field or route. `sendRepeatable` adds the idempotency key. */
export const repeatableCases: Record<string, RepeatableCase> = {
  createApiKey: { graphql: () => 'fullAccess: true', hasSecret: true, refusesLimited: true },
  rotateApiKeySecret: { prepare: anApiKey, graphql: id => `id: "${id}"`, hasSecret: true, refusesLimited: true },
  createVolume: { prepare: aMachine, graphql: id => `offerId: "${id}", sizeGb: 10` },
  createWebhook: { graphql: () => `url: "${url}", kinds: [INSTANCE_ENDING]`, hasSecret: true },
  rotateWebhookSecret: { prepare: aWebhook, graphql: id => `id: "${id}"`, hasSecret: true },
  createSpendLimit: {
    graphql: () => 'subject: { account: true }, window: DAY, amount: "5"',
    refusesLimited: true,
  },
  createSshKey: { graphql: () => `publicKey: "${aPublicKey('repeated')}"` },
  rebootInstance: { prepare: anInstance, graphql: id => `id: "${id}"` },
  recycleInstance: { prepare: anInstance, graphql: id => `id: "${id}"` },
  rentInstance: { prepare: anOffer, graphql: id => `offerId: "${id}", ${spec}`, hasSecret: true },
  rentBestOffer: {
    prepare: anOffer,
    graphql: () => `filter: {}, terms: { onDemand: { maxPricePerHour: "9" } }, ${spec}`,
    hasSecret: true,
  },
  createTemplate: { graphql: () => 'name: "repeated", image: "ubuntu"' },
  updateTemplate: { prepare: aTemplate, graphql: id => `id: "${id}", name: "repeated again"` },
  'POST /api/v0/auth/apikeys/': {
    rest: () => ['/auth/apikeys/', {}],
    hasSecret: true,
    refusesLimited: true,
  },
  'PUT /api/v0/asks/{id}/': { prepare: anOffer, rest: id => [`/asks/${id}/`, body], hasSecret: true },
  'POST /api/v0/asks/{id}/': { prepare: anOffer, rest: id => [`/asks/${id}/`, body], hasSecret: true },
  'POST /api/v0/asks/bulk/': { prepare: anOffer, rest: id => ['/asks/bulk/', { ...body, ids: [id] }] },
  'PUT /api/v0/launch_instance/': {
    prepare: anOffer,
    rest: id => ['/launch_instance/', { ...body, q: { id: { eq: id } } }],
    hasSecret: true,
  },
  'PUT /api/v0/volumes/': { prepare: aMachine, rest: id => ['/volumes/', { id, size: 10 }] },
  'POST /api/v0/template/': { rest: () => ['/template/', { name: 'repeated', image: 'ubuntu' }] },
  'PUT /api/v0/instances/reboot/{id}/': { prepare: anInstance, rest: id => [`/instances/reboot/${id}/`, {}] },
  'PUT /api/v0/instances/recycle/{id}/': { prepare: anInstance, rest: id => [`/instances/recycle/${id}/`, {}] },
}

export type RepeatableAnswer = { code: string; text: string; replayed?: boolean }

/** Sends a request with an API key and an idempotency key. `code` is the GraphQL code, or the REST error in upper case. */
export async function sendRepeatable(
  { app }: RepeatableSite,
  [name, request]: [string, RepeatableCase],
  { id, by, key }: { id: number; by: string; key: string },
): Promise<RepeatableAnswer> {
  if ('rest' in request) {
    const [path, body] = request.rest(id)
    const method = name.split(' ')[0] as string
    const { status, body: answer } = await app.rest(by, method, path, body, { 'Idempotency-Key': key })
    const { elapsed: _, ...kept } = answer
    return { code: status === 200 ? 'OK' : String(answer.error).toUpperCase(), text: JSON.stringify(kept) }
  }
  const union = getNamedType(schema.getMutationType()?.getFields()[name]?.type as GraphQLOutputType)
  const success = (union as GraphQLUnionType).getTypes().find(type => type.name.endsWith('Success'))
  const secret = { rentInstance: 'instanceApiKey', rentBestOffer: 'instanceApiKey' }[name] ?? 'secret'
  const fields = ['replayed', ...(request.hasSecret ? [secret] : [])].join(' ')
  const query = `mutation { ${name}(input: { ${request.graphql(id)}, idempotencyKey: "${key}" }) {
    ... on ${success} { ${fields} } ... on Error { code message } } }`
  const { data, errors } = await app.graphql(by, query)
  if (errors) return { code: String(errors[0]?.extensions['code']), text: JSON.stringify(errors[0]?.message) }
  const { code = 'OK', replayed, ...kept } = data[name]
  return { code, text: JSON.stringify(kept), replayed }
}
