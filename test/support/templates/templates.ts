import { expect } from 'vitest'
import { createSecrets, openJson } from '../../../src/services/secrets.ts'
import type { TestApp } from '../app.ts'
import { modeSelection } from '../launch/modes.ts'

/** The stored secrets of a template, which no face shows. */
export async function readStoredSecrets(app: TestApp, id: number) {
  const [row] = await app.sql(`SELECT registry_login, secret_env FROM templates WHERE id = ${id}`)
  const { registry_login: login, secret_env: env } = row as Record<string, Buffer | null>
  const secrets = createSecrets('a secret of tests')
  return { registry: openJson(secrets, login ?? null), env: openJson(secrets, env ?? null) }
}

export type SavedTemplate = { id: string; hashId: string }

export const templateSelection = `id hashId name public mine description readme image ${modeSelection} hostname onStart diskGb
  env { name value secret source } ports { hostPort containerPort protocol source }
  registry { host username } volumeHint { mountPath sizeGb } createdAt updatedAt`

const refusal = `__typename ... on Error { code message retry } ... on InvalidInputError { issues { path message } }`
const createMutation = `mutation ($input: CreateTemplateInput!) { saved: createTemplate(input: $input) {
  ${refusal} ... on ConflictError { conflictId: id } ... on CreateTemplateSuccess { replayed template { ${templateSelection} } } } }`
const updateMutation = `mutation ($input: UpdateTemplateInput!) { saved: updateTemplate(input: $input) {
  ${refusal} ... on NotFoundError { id } ... on ConflictError { conflictId: id } ... on UpdateTemplateSuccess { replayed template { ${templateSelection} } } } }`
const deleteMutation = `mutation ($input: DeleteTemplateInput!) { deleteTemplate(input: $input) {
  ${refusal} ... on NotFoundError { id } ... on DeleteTemplateSuccess { deletedId } } }`

/** Creates, changes, reads and deletes templates over GraphQL. */
export function templatesOf(app: TestApp) {
  type Saved = SavedTemplate & Record<string, unknown>
  async function send(key: string, mutation: string, input: object) {
    const { data, errors } = await app.graphql(key, mutation, { input })
    expect(errors).toBeUndefined()
    return data.saved
  }
  /** Returns the result of the mutation, success or error. */
  const create = async (key: string, input: object = {}) =>
    await send(key, createMutation, { name: 'mine', image: 'torch', ...input })
  const update = async (key: string, input: { id: string } & Record<string, unknown>) =>
    await send(key, updateMutation, input)
  return {
    create,
    update,
    /** Creates a template, which must succeed, and returns it. */
    async mustCreate(key: string, input: object = {}) {
      const answer = await create(key, input)
      expect(answer.template).toBeDefined()
      return answer.template as Saved
    },
    /** Changes a template, which must succeed, and returns it. */
    async mustUpdate(key: string, input: { id: string } & Record<string, unknown>) {
      const answer = await update(key, input)
      expect(answer.template).toBeDefined()
      return answer.template as Saved
    },
    async remove(key: string, id: string) {
      const { data, errors } = await app.graphql(key, deleteMutation, { input: { id } })
      expect(errors).toBeUndefined()
      return data.deleteTemplate
    },
    /** Finds a template by its hash, by its id, and twice as a node, in this order. */
    async find(key: string, { id, hashId }: SavedTemplate) {
      const query = `query ($id: ID!, $hashId: String!) { id: template(by: { id: $id }) { ${templateSelection} }
        hash: template(by: { hashId: $hashId }) { ${templateSelection} } node(id: $id) { ... on Template { ${templateSelection} } }
        nodes(ids: [$id]) { ... on Template { ${templateSelection} } } }`
      const { data, errors } = await app.graphql(key, query, { id, hashId })
      expect(errors).toBeUndefined()
      return [data.hash, data.id, data.node, data.nodes[0]]
    },
    async list(key: string, args = '(first: 50)') {
      const query = `{ templates${args} { totalCount nodes { ${templateSelection} } edges { cursor node { id } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
      const { data, errors } = await app.graphql(key, query)
      expect(errors).toBeUndefined()
      return data.templates
    },
  }
}
