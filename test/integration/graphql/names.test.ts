// One rule for the names that people give: they are texts that can be read.

import { type GraphQLInputObjectType, getNamedType, getNullableType, isInputObjectType, isListType } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await mutate('createTemplate', { name: 'one', image: 'ubuntu' })
})

afterAll(() => app.close())

const publicKey = aPublicKey('names')
const webhook = { url: 'https://hooks.example.com/secret', kinds: ['VOLUME_CREATED'] }
const terms = { onDemand: { maxPricePerHour: '1' } }
const newVolume = (name: string) => ({ mountPath: '/data', source: { create: { name, sizeGb: 10 } } })
const inVolume = 'spec.volumes.0.source.create'
const spec = { source: { image: 'ubuntu' } }

async function mutate(mutation: string, input: object) {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { answer: ${mutation}(input: $input) {
    __typename ... on InvalidInputError { issues { path message } } } }`
  const { data, errors } = await app.graphql(key, query, { input })
  expect(errors).toBeUndefined()
  return data.answer
}

const named: [mutation: string, input: (name: string) => object, path: string][] = [
  ['createApiKey', name => ({ name, fullAccess: true }), 'name'],
  ['updateApiKey', name => ({ id: 'key_1', name }), 'name'],
  ['createSshKey', name => ({ name, publicKey }), 'name'],
  ['updateSshKey', name => ({ id: 'ssh_1', name }), 'name'],
  ['createWebhook', name => ({ name, ...webhook }), 'name'],
  ['updateWebhook', name => ({ id: 'whk_1', name }), 'name'],
  ['createVolume', name => ({ name, offerId: 'vof_1', sizeGb: 10 }), 'name'],
  ['updateVolume', name => ({ id: 'vol_1', name }), 'name'],
  ['createTemplate', name => ({ name, image: 'ubuntu' }), 'name'],
  ['updateTemplate', name => ({ id: 'tpl_1', name }), 'name'],
  ['updateInstance', label => ({ id: 'ins_1', label }), 'label'],
  ['updateInstances', label => ({ target: { ids: ['ins_1'] }, label }), 'label'],
  ['rentInstance', label => ({ offerId: 'off_1', spec: { ...spec, label } }), 'spec.label'],
  ['rentInstance', name => ({ offerId: 'off_1', spec: { ...spec, volumes: [newVolume(name)] } }), `${inVolume}.name`],
  ['rentBestOffer', label => ({ filter: {}, terms, spec: { ...spec, label } }), 'spec.label'],
  ['rentBestOffer', name => ({ filter: {}, terms, spec: { ...spec, volumes: [newVolume(name)] } }), `${inVolume}.name`],
]

it.each(named)('%s refuses an empty or blank name or label', async (mutation, input, path) => {
  for (const blank of ['', ' \t\u3000']) {
    const { issues } = await mutate(mutation, input(blank))
    const ofName = issues.filter((issue: { path: string }) => issue.path === path)
    expect(ofName).toEqual([{ path, message: 'must not be blank.' }])
  }
})

it('the table above has every mutation that takes a name or a label', () => {
  /** The paths of the names of new things in an input. Filters, and names of things that exist, are in other fields. */
  const pathsIn = (input: GraphQLInputObjectType): string[] =>
    Object.values(input.getFields()).flatMap(({ name, type }) => {
      const inside = getNamedType(type)
      const list = isListType(getNullableType(type)) ? `${name}.0` : name
      if (isInputObjectType(inside))
        return isNamedElsewhere(inside.name) ? [] : pathsIn(inside).map(path => `${list}.${path}`)
      return (name === 'name' || name === 'label') && inside.name === 'String' ? [name] : []
    })
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
  const expected = mutations.flatMap(({ name, args }) =>
    args.flatMap(({ type }) => {
      const input = getNamedType(type)
      return isInputObjectType(input) ? pathsIn(input).map(path => `${name} ${path}`) : []
    }),
  )
  expect(named.map(([mutation, , path]) => `${mutation} ${path}`).toSorted()).toEqual(expected.toSorted())
})

/** Inputs whose `name` finds a thing, or is that of a variable. */
const isNamedElsewhere = (type: string) => /Filter$|By[A-Z]?\w*Input$|EnvVar|Variable/.test(type)

it('a name is shown for each item, also for one that has been given none', async () => {
  const query = `mutation ($key: CreateApiKeyInput!, $webhook: CreateWebhookInput!, $ssh: CreateSshKeyInput!) {
    createApiKey(input: $key) { ... on CreateApiKeySuccess { apiKey { id name } } }
    createWebhook(input: $webhook) { ... on CreateWebhookSuccess { webhook { id name } } }
    createSshKey(input: $ssh) { ... on CreateSshKeySuccess { sshKey { id name } } } }`
  const { data } = await app.graphql(key, query, { key: { fullAccess: true }, webhook, ssh: { publicKey } })
  const { apiKey } = data.createApiKey
  const { sshKey } = data.createSshKey
  const nodes = `query ($ids: [ID!]!) { nodes(ids: $ids) {
    ... on ApiKey { name } ... on Webhook { name } ... on SshKey { name } ... on Template { name } ... on Volume { name } } }`
  const ids = [apiKey.id, data.createWebhook.webhook.id, sshKey.id]
  expect((await app.graphql(key, nodes, { ids })).data.nodes).toEqual(ids.map(name => ({ name })))
})
