// A database with a value in every column of sealed values.

import { expect } from 'vitest'
import { canOpen, sealedColumns } from '../../../src/services/sealing/check.ts'
import type { Secrets } from '../../../src/services/secrets.ts'
import type { TestApp } from '../app.ts'
import { type Rentals, someCredit } from '../instances/rentals.ts'
import { webhooksOf } from '../webhooks/webhooks.ts'

export type SealedData = {
  key: string
  instance: number
  instanceKey: string
  webhook: string
  webhookSecrets: string[]
  /** Rents again, with the same idempotency key. */
  rentAgain: (app: TestApp) => Promise<Record<string, unknown>>
}

const setVariables = `mutation { updateSecretVariables(input: { variables: [{ name: "HF_TOKEN", value: "hush" }, { name: "B", value: "b" }] }) {
  __typename } }`
const createTemplate = `mutation { createTemplate(input: { name: "sealed", image: "ghcr.io/a/b",
  env: [{ name: "S", value: "a secret of the template", secret: true }],
  registry: { host: "ghcr.io", username: "ada", password: "pass" } }) { ... on CreateTemplateSuccess { template { id } } } }`
const rent = `mutation ($offer: ID!, $template: ID!) { rentInstance(input: { offerId: $offer, idempotencyKey: "once",
  spec: { source: { template: { by: { id: $template } } }, mode: { jupyter: {} } } }) {
  ... on RentInstanceSuccess { instanceApiKey replayed instance { id } } } }`

/** Makes what is sealed: through the API where that takes no real machine. `secrets` are those of the app. */
export async function sealEverything(
  app: TestApp,
  rentals: Rentals,
  secrets: Secrets,
  webhookUrl: string,
): Promise<SealedData> {
  const key = await app.newKey(null, someCredit)
  await app.graphql(key, setVariables)
  const { template } = (await app.graphql(key, createTemplate)).data.createTemplate
  const variables = { offer: String(await rentals.newOffer()), template: template.id }
  const rentAgain = async (by: TestApp) => (await by.graphql(key, rent, variables)).data.rentInstance
  const { instance, instanceApiKey } = (await rentAgain(app)) as { instance: { id: string }; instanceApiKey: string }
  const id = Number(instance.id.slice('ins_'.length))
  await rentals.converge()
  expect((await app.rest(key, 'PUT', `/instances/request_logs/${id}/`, {})).status).toBe(200)
  const webhooks = webhooksOf(app)
  const { id: webhook, secret } = await webhooks.create(key, webhookUrl)
  const rotated = await webhooks.mutate(key, 'rotate', { id: webhook })
  await sealWithoutMachines(app, rentals, secrets)
  return {
    key,
    instance: id,
    instanceKey: instanceApiKey,
    webhook,
    webhookSecrets: [rotated.secret, secret],
    rentAgain,
  }
}

async function sealWithoutMachines(app: TestApp, rentals: Rentals, secrets: Secrets): Promise<void> {
  await rentals.newOffer()
  await rentals.newOffer()
  const rows = (await app.sql('SELECT id FROM machines ORDER BY id DESC LIMIT 2')) as { id: number }[]
  const [withAgent, withTls] = rows.map(({ id }) => id)
  const engine = "'none', '{}', now())"
  await app.sql(`
    INSERT INTO engines (machine_id, url, tls, mark, identity, gpu_access, gpu_uuids, connected_at)
      VALUES (${withAgent}, NULL, NULL, 'a', 'a', ${engine},
        (${withTls}, 'tcp://10.0.0.1:2376', ${literal(secrets.seal('{"key":"k"}'))}, 'b', 'b', ${engine};
    INSERT INTO agents (machine_id, key_hash, joined_at) VALUES (${withAgent}, sha256('key'), now());
    INSERT INTO agent_requests (machine_id, id, method, args, answer, deadline)
      VALUES (${withAgent}, gen_random_uuid(), 'logs', ${literal(secrets.seal('[1]'))}, ${literal(secrets.seal('[2]'))}, now());
    INSERT INTO ssh_host_key (sealed) VALUES (${literal(secrets.seal('host key'))})`)
}

/** All sealed values of each column, opened. Fails if one does not open. */
export async function openEverything(app: TestApp, secrets: Secrets): Promise<Record<string, string[]>> {
  const columns = await readSealed(app)
  return Object.fromEntries(
    columns.map(({ name, values }) => [name, values.map(value => secrets.open(value)).toSorted()]),
  )
}

/** The columns of which these secrets open a value. */
export async function columnsOpenTo(app: TestApp, secrets: Secrets): Promise<string[]> {
  return (await readSealed(app)).flatMap(({ name, values }) =>
    values.some(value => canOpen(secrets, value)) ? [name] : [],
  )
}

async function readSealed(app: TestApp): Promise<{ name: string; values: Buffer[] }[]> {
  return await Promise.all(
    sealedColumns.map(async ([table, column]) => {
      const rows = await app.sql(`SELECT ${column} AS value FROM ${table} WHERE length(${column}) > 0`)
      return { name: `${table}.${column}`, values: (rows as { value: Buffer }[]).map(({ value }) => value) }
    }),
  )
}

function literal(bytes: Buffer): string {
  return `'\\x${bytes.toString('hex')}'`
}
