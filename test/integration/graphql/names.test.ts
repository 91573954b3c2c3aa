// One rule for the names that people give: they are texts that can be read.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
})

afterAll(() => app.close())

const publicKey = aPublicKey('names')
const webhook = { url: 'https://hooks.example.com/secret', kinds: ['VOLUME_CREATED'] }
const spec = { source: { image: 'ubuntu' } }

async function mutate(mutation: string, input: object) {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { answer: ${mutation}(input: $input) {
    __typename ... on InvalidInputError { issues { path message } } } }`
  const { data, errors } = await app.graphql(key, query, { input })
  expect(errors).toBeUndefined()
  return data.answer
}

it.each<[mutation: string, input: (name: string) => object, path: string]>([
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
])('%s refuses an empty or blank name or label', async (mutation, input, path) => {
  for (const blank of ['', ' \t\u3000']) {
    const { issues } = await mutate(mutation, input(blank))
    expect(issues).toContainEqual({ path, message: 'must not be blank.' })
  }
})

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
