// For every field and route that takes an id: its request, the operation that a key needs, and what the id names.

import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Operation } from '../../../src/domain/accounts/permissions/permissions.ts'
import { aPublicKey } from '../accounts/ssh-keys.ts'
import type { TestApp } from '../app.ts'
import type { Rentals } from '../instances/rentals.ts'
import { subscribeSse } from '../streams.ts'

export type IsolationCase = {
  /**
   * The operation that the key needs, and the constraint parameter that holds the id. Without a parameter every constraint
   * refuses the request.
   */
  operation: Operation
  parameter?: 'id' | 'offerId' | 'machineId'
  /** What the id names. Offers and machines belong to no account until they are rented. */
  of:
    | 'account'
    | 'instance'
    | 'runningInstance'
    | 'bid'
    | 'offer'
    | 'machine'
    | 'volume'
    | 'sshKey'
    | 'apiKey'
    | 'spendLimit'
    | 'template'
    | 'webhook'
  ask: (app: TestApp, key: string, id: number) => Promise<{ status: number; [more: string]: unknown }>
}

const graphql =
  (query: (id: number) => string): IsolationCase['ask'] =>
  async (app, key, id) => {
    const { status, data, errors } = await app.graphql(key, query(id))
    return { status, data, errors }
  }
const rest =
  (method: string, path: string, body?: (id: number) => object): IsolationCase['ask'] =>
  async (app, key, id) => {
    const answer = await app.rest(key, method, path.replace('{id}', String(id)), body?.(id))
    return { status: answer.status, body: answer.body }
  }

/** The first event of a stream. A `quiet` stream has none, so it is enough that the stream opens. */
const stream =
  (query: (id: number) => string, { quiet = false } = {}): IsolationCase['ask'] =>
  async (app, key, id) => {
    const opened = await subscribeSse(app.fetch, key, query(id))
    // A refused stream is closed by now, so an open one was accepted.
    const first = quiet && app.countStreams() > 0 ? {} : await opened.next()
    await opened.close()
    await expect.poll(() => app.countStreams()).toBe(0)
    return { status: opened.status, ...first }
  }

const refused = '__typename ... on Error { code message }'
const offer = { operation: 'instances.rent', parameter: 'offerId', of: 'offer' } as const
const instance = (operation: Operation) => ({ operation, parameter: 'id', of: 'instance' }) as const
const volume = (operation: Operation) => ({ operation, parameter: 'id', of: 'volume' }) as const
const template = (operation: Operation) => ({ operation, parameter: 'id', of: 'template' }) as const
const sshKey = (operation: Operation) => ({ operation, parameter: 'id', of: 'sshKey' }) as const
const apiKey = (operation: Operation) => ({ operation, parameter: 'id', of: 'apiKey' }) as const
const webhook = (operation: Operation) => ({ operation, parameter: 'id', of: 'webhook' }) as const
const bulk = (verb: string) =>
  `... on ${verb}InstancesSuccess { items { outcome instance { id } error { code message } } }`

export const fieldCases: Record<string, IsolationCase> = {
  instance: { ...instance('instances.get'), ask: graphql(id => `{ instance(id: "${id}") { id label } }`) },
  instances: {
    operation: 'instances.list',
    of: 'instance',
    ask: graphql(id => `{ instances(filter: { ids: ["${id}"] }) { totalCount nodes { id } } }`),
  },
  events: {
    operation: 'events.list',
    of: 'instance',
    ask: graphql(
      id => `{ events(filter: { subjectIds: ["ins_${id}"] }) { nodes { id subject { ... on Instance { label } } } } }`,
    ),
  },
  'Account.ledger': {
    operation: 'billing.ledger',
    of: 'instance',
    ask: graphql(
      id => `{ viewer { account { ledger(filter: { subjectIds: ["ins_${id}"] }) { totalCount nodes { amount } } } } }`,
    ),
  },
  machine: { operation: 'machines.get', of: 'machine', ask: graphql(id => `{ machine(id: "${id}") { id city } }`) },
  node: {
    ...instance('instances.get'),
    ask: graphql(id => `{ node(id: "ins_${id}") { id ... on Instance { label } } }`),
  },
  nodes: { ...instance('instances.get'), ask: graphql(id => `{ nodes(ids: ["ins_${id}"]) { id } }`) },
  offer: { operation: 'offers.get', of: 'offer', ask: graphql(id => `{ offer(id: "${id}") { id rentable } }`) },
  offers: {
    operation: 'offers.search',
    of: 'machine',
    ask: graphql(id => `{ offers(filter: { machineId: { eq: "${id}" } }) { nodes { id } } }`),
  },
  rentBestOffer: {
    operation: 'instances.rent',
    of: 'machine',
    ask: graphql(
      id => `mutation { rentBestOffer(input: { filter: { machineId: { eq: "${id}" } },
        terms: { onDemand: { maxPricePerHour: "1" } }, spec: { source: { image: "ubuntu" } } }) { ${refused} } }`,
    ),
  },
  rentInstance: {
    ...offer,
    ask: graphql(
      id => `mutation { rentInstance(input: { offerId: "${id}", spec: { source: { image: "ubuntu" } } }) {
        ${refused} ... on OfferUnavailableError { yourInstance { id } } } }`,
    ),
  },
  updateInstance: {
    ...instance('instances.update'),
    ask: graphql(id => `mutation { updateInstance(input: { id: "${id}", label: "taken" }) { ${refused} } }`),
  },
  updateInstances: {
    ...instance('instances.update'),
    ask: graphql(
      id => `mutation { updateInstances(input: { target: { ids: ["${id}"] }, label: "taken" }) {
        ${refused} ${bulk('Update')} } }`,
    ),
  },
  startInstance: {
    ...instance('instances.update'),
    ask: graphql(id => `mutation { startInstance(input: { id: "${id}" }) { ${refused} } }`),
  },
  stopInstance: {
    ...instance('instances.update'),
    ask: graphql(id => `mutation { stopInstance(input: { id: "${id}" }) { ${refused} } }`),
  },
  startInstances: {
    ...instance('instances.update'),
    ask: graphql(
      id => `mutation { startInstances(input: { target: { ids: ["${id}"] } }) { ${refused} ${bulk('Start')} } }`,
    ),
  },
  stopInstances: {
    ...instance('instances.update'),
    ask: graphql(
      id => `mutation { stopInstances(input: { target: { ids: ["${id}"] } }) { ${refused} ${bulk('Stop')} } }`,
    ),
  },
  destroyInstance: {
    ...instance('instances.destroy'),
    ask: graphql(id => `mutation { destroyInstance(input: { id: "${id}" }) { ${refused} } }`),
  },
  rebootInstance: {
    ...instance('instances.reboot'),
    ask: graphql(id => `mutation { rebootInstance(input: { id: "${id}" }) { ${refused} } }`),
  },
  recycleInstance: {
    ...instance('instances.recycle'),
    ask: graphql(id => `mutation { recycleInstance(input: { id: "${id}" }) { ${refused} } }`),
  },
  updateInstanceBid: {
    ...instance('instances.changeBid'),
    ask: graphql(id => `mutation { updateInstanceBid(input: { id: "${id}", bidPerHour: "0.3" }) { ${refused} } }`),
  },
  updateInstancePolicy: {
    ...instance('instances.setPolicy'),
    ask: graphql(id => `mutation { updateInstancePolicy(input: { id: "${id}", stopAtCost: "3" }) { ${refused} } }`),
  },
  destroyInstances: {
    ...instance('instances.destroy'),
    ask: graphql(
      id => `mutation { destroyInstances(input: { target: { ids: ["${id}"] } }) { ${refused} ${bulk('Destroy')} } }`,
    ),
  },
  createVolume: {
    operation: 'volumes.create',
    parameter: 'machineId',
    of: 'machine',
    ask: graphql(id => `mutation { createVolume(input: { offerId: "${id}", sizeGb: 10 }) { ${refused} } }`),
  },
  template: { ...template('templates.get'), ask: graphql(id => `{ template(by: { id: "${id}" }) { id name } }`) },
  updateTemplate: {
    ...template('templates.save'),
    ask: graphql(id => `mutation { updateTemplate(input: { id: "${id}", name: "taken", image: "a" }) { ${refused} } }`),
  },
  deleteTemplate: {
    ...template('templates.delete'),
    ask: graphql(id => `mutation { deleteTemplate(input: { id: "${id}" }) { ${refused} } }`),
  },
  rentQuote: {
    ...offer,
    operation: 'instances.quote',
    ask: graphql(
      id =>
        `{ rentQuote(input: { offerId: "${id}", spec: { source: { image: "ubuntu" } } }) { rentable blockers { __typename } } }`,
    ),
  },
  updateVolume: {
    ...volume('volumes.update'),
    ask: graphql(id => `mutation { updateVolume(input: { id: "${id}", name: "taken" }) { ${refused} } }`),
  },
  deleteVolume: {
    ...volume('volumes.delete'),
    ask: graphql(id => `mutation { deleteVolume(input: { id: "${id}" }) { ${refused} ... on NotFoundError { id } } }`),
  },
  volume: { ...volume('volumes.get'), ask: graphql(id => `{ volume(id: "${id}") { id name } }`) },
  volumeOffers: {
    operation: 'volumes.search',
    of: 'machine',
    ask: graphql(id => `{ volumeOffers(filter: { machineId: { eq: "${id}" } }) { nodes { id } } }`),
  },
  createSshKey: {
    operation: 'sshKeys.register',
    of: 'instance',
    ask: graphql(
      id =>
        `mutation { createSshKey(input: { publicKey: "${aPublicKey('new')}", instanceIds: ["${id}"] }) { ${refused} } }`,
    ),
  },
  deleteSshKey: {
    operation: 'sshKeys.delete',
    parameter: 'id',
    of: 'sshKey',
    ask: graphql(id => `mutation { deleteSshKey(input: { id: "${id}" }) { ${refused} } }`),
  },
  updateSshKey: {
    ...sshKey('sshKeys.replace'),
    ask: graphql(
      id =>
        `mutation { updateSshKey(input: { id: "${id}", publicKey: "${aPublicKey(`in place of ${id}`)}" }) { ${refused} } }`,
    ),
  },
  attachSshKey: {
    ...instance('instances.attachSshKey'),
    ask: graphql(id => `mutation { attachSshKey(input: { id: "${id}", sshKeyId: "1" }) { ${refused} } }`),
  },
  detachSshKey: {
    ...instance('instances.detachSshKey'),
    ask: graphql(id => `mutation { detachSshKey(input: { id: "${id}", sshKeyId: "1" }) { ${refused} } }`),
  },
  updateApiKey: {
    ...apiKey('apiKeys.update'),
    ask: graphql(id => `mutation { updateApiKey(input: { id: "${id}", name: "taken" }) { ${refused} } }`),
  },
  rotateApiKeySecret: {
    ...apiKey('apiKeys.reset'),
    ask: graphql(id => `mutation { rotateApiKeySecret(input: { id: "${id}" }) { ${refused} } }`),
  },
  deleteApiKey: {
    ...apiKey('apiKeys.revoke'),
    ask: graphql(id => `mutation { deleteApiKey(input: { id: "${id}" }) { ${refused} } }`),
  },
  createSpendLimit: {
    operation: 'billing.setSpendLimit',
    of: 'apiKey',
    ask: graphql(
      id =>
        `mutation { createSpendLimit(input: { subject: { apiKeyId: "${id}" }, window: DAY, amount: "1" }) { ${refused} } }`,
    ),
  },
  updateSpendLimit: {
    operation: 'billing.setSpendLimit',
    of: 'spendLimit',
    ask: graphql(id => `mutation { updateSpendLimit(input: { id: "${id}", amount: "2" }) { ${refused} } }`),
  },
  deleteSpendLimit: {
    operation: 'billing.deleteSpendLimit',
    parameter: 'id',
    of: 'spendLimit',
    ask: graphql(id => `mutation { deleteSpendLimit(input: { id: "${id}" }) { ${refused} } }`),
  },
  'subscription instanceChanges': {
    ...instance('instances.watch'),
    ask: stream(
      id =>
        `subscription { instanceChanges(filter: { ids: ["${id}"] }) { ... on InstanceChange { instance { id label } } } }`,
      {
        quiet: true,
      },
    ),
  },
  executeCommand: {
    ...instance('instances.execute'),
    ask: graphql(
      id => `mutation { executeCommand(input: { id: "${id}", command: "pwd" }) { ${refused}
        ... on NotFoundError { id } } }`,
    ),
  },
  'subscription instanceLogs': {
    ...instance('instances.logs'),
    ask: stream(id => `subscription { instanceLogs(id: "${id}") { text } }`, { quiet: true }),
  },
  'subscription instanceMetrics': {
    ...instance('instances.metrics'),
    ask: stream(id => `subscription { instanceMetrics(id: "${id}") { endsAt } }`, { quiet: true }),
  },
  'subscription offerChanges': {
    operation: 'offers.watch',
    of: 'machine',
    ask: stream(id => `subscription { offerChanges(filter: { machineId: { eq: "${id}" } }) { offerId } }`, {
      quiet: true,
    }),
  },
  'subscription events': {
    operation: 'events.watch',
    of: 'instance',
    ask: stream(id => `subscription { events(filter: { subjectIds: ["ins_${id}"] }) { cursor } }`, { quiet: true }),
  },
  updateWebhook: {
    ...webhook('webhooks.update'),
    ask: graphql(id => `mutation { updateWebhook(input: { id: "${id}", name: "taken" }) { ${refused} } }`),
  },
  testWebhook: {
    ...webhook('webhooks.test'),
    ask: graphql(id => `mutation { testWebhook(input: { id: "${id}" }) { ${refused} } }`),
  },
  rotateWebhookSecret: {
    ...webhook('webhooks.rotate'),
    ask: graphql(id => `mutation { rotateWebhookSecret(input: { id: "${id}" }) { ${refused} } }`),
  },
  deleteWebhook: {
    ...webhook('webhooks.delete'),
    ask: graphql(id => `mutation { deleteWebhook(input: { id: "${id}" }) { ${refused} } }`),
  },
}

/** Id of the first SSH key that the owner registers: aPublicKey('known'). */
export const knownSshKeyId = 9_000_001

const path = '/api/v0/instances/{id}/'
export const routeCases: Record<string, IsolationCase> = {
  'PUT /api/v0/asks/{id}/': { ...offer, ask: rest('PUT', '/asks/{id}/', () => ({ image: 'ubuntu' })) },
  'POST /api/v0/asks/{id}/': { ...offer, ask: rest('POST', '/asks/{id}/', () => ({ image: 'ubuntu' })) },
  'POST /api/v0/asks/bulk/': { ...offer, ask: rest('POST', '/asks/bulk/', id => ({ ids: [id], image: 'ubuntu' })) },
  [`GET ${path}`]: { ...instance('instances.get'), ask: rest('GET', '/instances/{id}/') },
  [`PUT ${path}`]: {
    ...instance('instances.update'),
    ask: rest('PUT', '/instances/{id}/', () => ({ label: 'taken' })),
  },
  [`DELETE ${path}`]: { ...instance('instances.destroy'), ask: rest('DELETE', '/instances/{id}/') },
  [`PUT ${path}start/`]: { ...instance('instances.update'), ask: rest('PUT', '/instances/{id}/start') },
  [`PUT ${path}stop/`]: { ...instance('instances.update'), ask: rest('PUT', '/instances/{id}/stop') },
  'DELETE /api/v0/instances/': {
    ...instance('instances.destroy'),
    ask: rest('DELETE', '/instances/', id => ({ instance_ids: [id] })),
  },
  'PUT /api/v0/instances/reboot/{id}/': {
    ...instance('instances.reboot'),
    ask: rest('PUT', '/instances/reboot/{id}/'),
  },
  'PUT /api/v0/instances/recycle/{id}/': {
    ...instance('instances.recycle'),
    ask: rest('PUT', '/instances/recycle/{id}/'),
  },
  'PUT /api/v0/instances/bid_price/{id}/': {
    ...{ operation: 'instances.changeBid', parameter: 'id', of: 'bid' },
    ask: rest('PUT', '/instances/bid_price/{id}/', () => ({ price: 0.4 })),
  },
  'PUT /api/v0/instances/update_template/{id}/': {
    ...instance('instances.changeLaunch'),
    ask: rest('PUT', '/instances/update_template/{id}/', () => ({ image: 'taken' })),
  },
  'PUT /api/v0/instances/prepay/{id}/': {
    ...instance('instances.update'),
    ask: rest('PUT', '/instances/prepay/{id}/', () => ({ amount: 10 })),
  },
  'PUT /api/v0/instances/request_logs/{id}/': {
    ...instance('instances.logs'),
    ask: rest('PUT', '/instances/request_logs/{id}/', () => ({})),
  },
  'PUT /api/v0/instances/command/{id}/': {
    ...instance('instances.execute'),
    of: 'runningInstance',
    ask: rest('PUT', '/instances/command/{id}/', () => ({ command: 'pwd' })),
  },
  'POST /api/v0/instances/take_snapshot/{id}/': {
    ...instance('instances.execute'),
    ask: rest('POST', '/instances/take_snapshot/{id}/', () => ({ pause: 'true' })),
  },
  'GET /api/v0/instances/balance/{id}/': {
    ...instance('instances.get'),
    ask: rest('GET', '/instances/balance/{id}/'),
  },
  [`GET ${path}ssh/`]: { ...instance('instances.get'), ask: rest('GET', '/instances/{id}/ssh/') },
  [`POST ${path}ssh/`]: {
    ...instance('instances.attachSshKey'),
    ask: rest('POST', '/instances/{id}/ssh/', () => ({ ssh_key: aPublicKey('known') })),
  },
  [`DELETE ${path}ssh/{key}/`]: {
    ...instance('instances.detachSshKey'),
    ask: rest('DELETE', `/instances/{id}/ssh/${knownSshKeyId}/`),
  },
  'PUT /api/v0/ssh/{id}/': {
    ...sshKey('sshKeys.replace'),
    ask: rest('PUT', '/ssh/{id}/', id => ({ ssh_key: aPublicKey(`instead of ${id}`) })),
  },
  'DELETE /api/v0/ssh/{id}/': { ...sshKey('sshKeys.delete'), ask: rest('DELETE', '/ssh/{id}/') },
  'GET /api/v0/auth/apikeys/{id}/': {
    operation: 'apiKeys.list',
    of: 'apiKey',
    ask: rest('GET', '/auth/apikeys/{id}/'),
  },
  'GET /api/v0/users/{id}/templates/': {
    operation: 'templates.listOwn',
    of: 'account',
    ask: rest('GET', '/users/{id}/templates/'),
  },
  'GET /api/v0/machines/{id}/': {
    operation: 'machines.hosted',
    of: 'machine',
    ask: rest('GET', '/machines/{id}/'),
  },
  'DELETE /api/v0/auth/apikeys/{id}/': {
    ...apiKey('apiKeys.revoke'),
    ask: rest('DELETE', '/auth/apikeys/{id}/'),
  },
  'PUT /api/v0/instances/': {
    ...instance('instances.update'),
    ask: rest('PUT', '/instances/', id => ({ ids: [id], state: 'stopped' })),
  },
}

/** Creates a new thing of each kind for the account of a key. */
export function makersOf(
  app: TestApp,
  rentals: Rentals,
): Record<IsolationCase['of'], (key: string) => Promise<number>> {
  return {
    account: async key => (await app.rest(key, 'GET', '/users/current')).body.id,
    apiKey: async key => await idOf(await app.newScopedKey(key, { api: {} })),
    bid: key => rentals.rent(key, { label: 'mine', price: 0.3 }),
    instance: key => rentals.rent(key, { label: 'mine' }),
    runningInstance: key => rentals.rentToStatus(key, 'running', { label: 'mine' }),
    machine: newMachine,
    offer: () => rentals.newOffer(),
    spendLimit: aSpendLimit,
    sshKey: anSshKey,
    template: aTemplate,
    volume: async key => await newVolume(key, await newMachine()),
    webhook: aWebhook,
  }

  async function newMachine(): Promise<number> {
    const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${await rentals.newOffer()}`)
    return (row as { machine_id: number }).machine_id
  }

  async function aTemplate(key: string): Promise<number> {
    const { data } = await app.graphql(
      key,
      `mutation { createTemplate(input: { name: "${randomUUID()}", image: "ubuntu" }) {
      ... on CreateTemplateSuccess { template { id } } } }`,
    )
    return Number(data.createTemplate.template.id.slice('tpl_'.length))
  }

  async function newVolume(key: string, machineId: number): Promise<number> {
    const { data } = await app.graphql(
      key,
      `mutation { createVolume(input: { offerId: "${machineId}", sizeGb: 10 }) {
      ... on CreateVolumeSuccess { volume { id } } } }`,
    )
    return Number(data.createVolume.volume.id.slice('vol_'.length))
  }

  async function aWebhook(key: string): Promise<number> {
    // An account can have few webhooks, so the earlier ones are deleted.
    await app.sql(
      "UPDATE webhooks SET deleted_at = created_at, sealed_url = '' WHERE id < (SELECT max(id) FROM webhooks)",
    )
    const { data } = await app.graphql(
      key,
      `mutation { createWebhook(input: { url: "https://hooks.invalid/", kinds: [INSTANCE_ENDING] }) {
      ... on CreateWebhookSuccess { webhook { id } } } }`,
    )
    return Number(data.createWebhook.webhook.id.slice('whk_'.length))
  }

  async function aSpendLimit(key: string): Promise<number> {
    const apiKeyId = await idOf(await app.newScopedKey(key, { api: {} }))
    const { data } = await app.graphql(
      key,
      `mutation { createSpendLimit(input: { subject: { apiKeyId: "${apiKeyId}" }, window: DAY, amount: "1" }) {
      ... on CreateSpendLimitSuccess { spendLimit { id } } } }`,
    )
    return Number(data.createSpendLimit.spendLimit.id.slice('lim_'.length))
  }

  async function anSshKey(key: string): Promise<number> {
    const publicKey = aPublicKey(randomUUID())
    const { data } = await app.graphql(
      key,
      `mutation { createSshKey(input: { publicKey: "${publicKey}" }) { ... on CreateSshKeySuccess { sshKey { id } } } }`,
    )
    return Number(data.createSshKey.sshKey.id.slice('ssh_'.length))
  }

  async function idOf(key: string): Promise<number> {
    const [row] = await app.sql(`SELECT id FROM api_keys WHERE public_id = '${key.split('_')[1]}'`)
    return (row as { id: number }).id
  }
}
