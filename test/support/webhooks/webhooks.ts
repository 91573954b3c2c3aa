import { expect } from 'vitest'
import type { TestApp } from '../app.ts'

export type Delivery = {
  id: string
  event: { id: string; kind: string }
  status: string
  attempts: number
  attemptedAt: string | null
  nextAttemptAt: string | null
  deliveredAt: string | null
  responseStatus: number | null
  error: string | null
}

const errorFields = '__typename ... on Error { code message } ... on InvalidInputError { issues { path message } }'
const deliveryFields = 'id event { id kind } status attempts attemptedAt nextAttemptAt deliveredAt responseStatus error'
const secretFields = 'secret replayed webhook { id name url kinds createdAt oldSecretUntil }'

const mutations = {
  create: `mutation ($input: CreateWebhookInput!) { answer: createWebhook(input: $input) {
    ${errorFields} ... on CreateWebhookSuccess { ${secretFields} } } }`,
  update: `mutation ($input: UpdateWebhookInput!) { answer: updateWebhook(input: $input) {
    ${errorFields} ... on UpdateWebhookSuccess { webhook { id name url kinds createdAt oldSecretUntil } } } }`,
  rotate: `mutation ($input: RotateWebhookSecretInput!) { answer: rotateWebhookSecret(input: $input) {
    ${errorFields} ... on RotateWebhookSecretSuccess { ${secretFields} } } }`,
  test: `mutation ($input: TestWebhookInput!) { answer: testWebhook(input: $input) {
    ${errorFields} ... on TestWebhookSuccess { delivery { ${deliveryFields} } } } }`,
  delete: `mutation ($input: DeleteWebhookInput!) { answer: deleteWebhook(input: $input) {
    ${errorFields} ... on DeleteWebhookSuccess { deletedId } } }`,
}

/** Manages webhooks over GraphQL. */
export function webhooksOf(app: TestApp) {
  async function mutate(key: string, name: keyof typeof mutations, input: object) {
    const { data, errors } = await app.graphql(key, mutations[name], { input })
    return { ...data?.answer, errors }
  }

  return {
    mutate,
    async create(key: string, url: string, kinds: string[] = ['SSH_KEY_CREATED']) {
      const answer = await mutate(key, 'create', { url, kinds })
      expect(answer).toMatchObject({ __typename: 'CreateWebhookSuccess', errors: undefined })
      return { id: answer.webhook.id as string, secret: answer.secret as string }
    },
    async test(key: string, id: string): Promise<Delivery> {
      const answer = await mutate(key, 'test', { id })
      expect(answer).toMatchObject({ __typename: 'TestWebhookSuccess', errors: undefined })
      return answer.delivery
    },
    async deliveries(key: string, id: string): Promise<Delivery[]> {
      const query = `query ($id: ID!) { node(id: $id) { ... on Webhook { recentDeliveries(first: 50) { ${deliveryFields} } } } }`
      const { data, errors } = await app.graphql(key, query, { id })
      expect(errors).toBeUndefined()
      return data.node.recentDeliveries
    },
    async list(key: string) {
      const query =
        '{ viewer { account { webhooks { id name url kinds createdAt oldSecretUntil recentDeliveries { id } } } } }'
      const { data, errors } = await app.graphql(key, query)
      expect(errors).toBeUndefined()
      return data.viewer.account.webhooks
    },
  }
}
