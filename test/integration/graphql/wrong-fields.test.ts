// A mutation names all wrong fields at once: a caller mends them all, and asks once more.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await mutate('createTemplate', { name: 'one', image: 'ubuntu' })
})

afterAll(() => app.close())

async function mutate(mutation: string, input: object) {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { answer: ${mutation}(input: $input) {
    __typename ... on InvalidInputError { issues { path message } } } }`
  const { data, errors } = await app.graphql(key, query, { input })
  expect(errors).toBeUndefined()
  return data.answer
}

const [id, name, tooLong] = ['1', ' ', 'n'.repeat(3_000)]
const instances = { category: 'INSTANCE_READ' }
const spec = {
  source: { image: '' },
  label: name,
  diskGb: 1,
  volumes: [{ mountPath: '/data', source: { volumeId: 'x' } }],
}
const inSpec = ['spec.diskGb', 'spec.label', 'spec.source.image', 'spec.volumes.0.source.volumeId']

it.each<[mutation: string, input: object, paths: string[]]>([
  ['createApiKey', { name }, ['name', 'permissions']],
  ['createApiKey', { name, permissions: [instances, instances] }, ['name', 'permissions.1']],
  ['createApiKey', { name: tooLong, permissions: [instances, instances] }, ['name', 'permissions.1']],
  ['updateApiKey', { id, name, permissions: null }, ['name', 'permissions']],
  ['updateApiKey', { id, name, permissions: [instances, instances] }, ['name', 'permissions.1']],
  ['createSshKey', { name, publicKey: 'none' }, ['name', 'publicKey']],
  ['updateSshKey', { id, name, publicKey: 'none' }, ['name', 'publicKey']],
  ['updateSshKey', { id, name: tooLong, publicKey: null }, ['name', 'publicKey']],
  ['createWebhook', { name, url: 'none', kinds: [] }, ['kinds', 'name', 'url']],
  ['updateWebhook', { id, name, url: null, kinds: null }, ['kinds', 'name', 'url']],
  ['createVolume', { name, offerId: 'vof_1', sizeGb: 0 }, ['name', 'sizeGb']],
  ['createTemplate', { name, image: '', diskGb: 1, description: tooLong }, ['description', 'diskGb', 'image', 'name']],
  ['updateTemplate', { id, name, image: null, diskGb: 1, onStart: '' }, ['diskGb', 'image', 'name', 'onStart']],
  ['updateSpendLimit', { id, amount: '-1', action: null }, ['action', 'amount']],
  ['rentInstance', { offerId: 'off_1', spec }, inSpec],
  ['rentBestOffer', { filter: {}, terms: { onDemand: { maxPricePerHour: '0' } }, spec }, inSpec],
])('%s names each wrong field, case %#', async (mutation, input, paths) => {
  const { issues } = await mutate(mutation, input)
  expect(issues?.map((issue: { path: string }) => issue.path).toSorted()).toEqual(paths)
})
