import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { aPublicKey } from '../accounts/ssh-keys.ts'
import type { TestApp } from '../app.ts'
import { type Rentals, rentalsOf } from '../instances/rentals.ts'
import { makersOf } from './isolation.ts'
import { nodeTypes, queriesOf } from './whole-schema.ts'

/**
 * Gives the account of a key items of each type, all of them with costs: some with as little as possible, others with
 * everything that an item can have. Returns the id of its running instance.
 */
export async function makeEverything(app: TestApp, owner: string, rentals: Rentals = rentalsOf(app)): Promise<string> {
  const make = makersOf(app, rentals)
  await make.sshKey(owner)
  await make.spendLimit(owner)
  await make.webhook(owner)
  await makeWithSettings(app, owner, rentals)
  const template = await make.template(owner)
  const { data } = await app.graphql(
    owner,
    `mutation { rentInstance(input: { offerId: ${await rentals.newOffer()}, terms: { interruptible: { bidPerHour: "0.3" } },
      spec: { source: { template: { by: { id: "${template}" } } }, mode: { jupyter: {} }, volumes: [{ source: { create: { sizeGb: 10 } } }] } }) {
      ... on RentInstanceSuccess { instance { id } } } }`,
  )
  await rentals.converge()
  app.clock.advance(3_600_000)
  return data.rentInstance.instance.id
}

/** Items whose settings are not the defaults, an instance that is destroyed, and an entry with a note. */
async function makeWithSettings(app: TestApp, owner: string, rentals: Rentals): Promise<void> {
  const expiresAt = new Date(app.clock.now().getTime() + 30 * 86_400_000).toISOString()
  const change = async (mutation: string, selection: string) => {
    const { data, errors } = await app.graphql(
      owner,
      `mutation { change: ${mutation} { __typename ... on Error { message } ${selection} } }`,
    )
    expect([errors, data?.change], mutation).toEqual([
      undefined,
      expect.not.objectContaining({ message: expect.any(String) }),
    ])
    return data.change
  }
  const { apiKey } = await change(
    `createApiKey(input: { name: "deploys", permissions: [{ category: MARKET_READ }], expiresAt: "${expiresAt}" })`,
    '... on CreateApiKeySuccess { apiKey { id } }',
  )
  for (const subject of ['account: true', `apiKeyId: "${apiKey.id}"`]) {
    await change(`createSpendLimit(input: { subject: { ${subject} }, window: MONTH, amount: "5", action: NOTIFY })`, '')
  }
  const publicKey = aPublicKey(randomUUID())
  await change(`createSshKey(input: { name: "laptop", publicKey: "${publicKey}" })`, '')
  await change(
    'updateSecretVariables(input: { variables: [{ name: "TOKEN", value: "t" }, { name: "HF", value: "h" }] })',
    '',
  )
  const { webhook } = await change(
    'createWebhook(input: { name: "ops", url: "https://ops.invalid/", kinds: [INSTANCE_CREATED, INSTANCE_DESTROYED] })',
    '... on CreateWebhookSuccess { webhook { id } }',
  )
  await change(`rotateWebhookSecret(input: { id: "${webhook.id}" })`, '')
  const { template } = await change(
    `createTemplate(input: { name: "whole", image: "ghcr.io/a/b", description: "D", readme: "R", hostname: "h", onStart: "true",
      diskGb: 12, env: [{ name: "A", value: "1" }, { name: "S", value: "s", secret: true }],
      ports: [{ containerPort: 8080 }], mode: { ssh: {} }, volumeHint: { mountPath: "/data", sizeGb: 10 },
      registry: { host: "ghcr.io", username: "a", password: "p" } })`,
    '... on CreateTemplateSuccess { template { id } }',
  )
  const { instance } = await change(
    `rentInstance(input: { offerId: ${await rentals.newOffer({ vmsEnabled: true })}, idempotencyKey: "${randomUUID()}",
      spec: { label: "batch", source: { template: { by: { id: "${template.id}" } } }, policy: { destroyAt: "${expiresAt}" } } })`,
    '... on RentInstanceSuccess { instance { id } }',
  )
  await rentals.converge()
  await change(`destroyInstance(input: { id: "${instance.id}" })`, '')
  await rentals.converge()
  const { email } = (await app.graphql(owner, '{ viewer { account { email } } }')).data.viewer.account
  await app.operations.accounts.adjustCredit(email, { amountNanos: 5_000_000_000n, reason: 'a test' })
}

/** Has an instance replaced, because its image takes too long. Returns the ids of both. */
export async function replaceInstance(app: TestApp, owner: string, rentals: Rentals = rentalsOf(app)) {
  const country = 'QQ'
  for (const gpuNanos of [200_000_000n, 300_000_000n]) await rentals.newOffer({ country, gpuNanos })
  const { data } = await app.graphql(
    owner,
    `mutation { rentBestOffer(input: { filter: { country: { eq: "${country}" } }, terms: { onDemand: { maxPricePerHour: "1" } },
      spec: { source: { image: "simulated/slow-pull:86400" } }, replace: { within: "1m", attempts: 2 } }) {
      ... on RentBestOfferSuccess { instance { id } } } }`,
  )
  const replaced: string = data.rentBestOffer.instance.id
  app.clock.advance(60_000)
  await rentals.converge()
  const read = await app.graphql(owner, `{ instance(id: "${replaced}") { replacedBy { id } } }`)
  return { replaced, replacement: read.data.instance.replacedBy.id as string }
}

/** An item of each type that has an id, found by asking for everything until nothing new comes. */
export async function findIds(app: TestApp, owner: string): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { __typename: type, id } = value as Record<string, unknown>
    if (typeof type === 'string' && typeof id === 'string' && nodeTypes().includes(type) && !ids.has(type))
      ids.set(type, id)
    for (const one of Object.values(value)) collect(one)
  }
  for (let known = -1; known < ids.size; ) {
    known = ids.size
    for (const query of queriesOf(ids).values()) collect((await app.graphql(owner, query)).data)
  }
  return ids
}
