import { expect } from 'vitest'
import type { TestApp } from '../app.ts'

export type SavedTemplate = { id: string; hashId: string }

export const templateSelection = `id hashId name public mine image mode lab directory args hostname onStart diskGb
  env { name value secret source } ports { hostPort containerPort protocol source }
  registry { host username } volumeHint { mountPath sizeGb } createdAt updatedAt`

const refusal = `__typename ... on Error { code message retryable } ... on InvalidInputError { issues { path message } }
  ... on NotFoundError { id }`
const saveMutation = `mutation ($input: SaveTemplateInput!) { saveTemplate(input: $input) {
  ${refusal} ... on ConflictError { conflictId: id } ... on SaveTemplateSuccess { replayed template { ${templateSelection} } } } }`
const deleteMutation = `mutation ($input: DeleteTemplateInput!) { deleteTemplate(input: $input) {
  ${refusal} ... on DeleteTemplateSuccess { deletedId } } }`

/** Saves, reads and deletes templates over GraphQL. */
export function templatesOf(app: TestApp) {
  /** Returns the result of the mutation, success or error. */
  async function save(key: string, input: object) {
    const { data, errors } = await app.graphql(key, saveMutation, { input: { name: 'mine', image: 'torch', ...input } })
    expect(errors).toBeUndefined()
    return data.saveTemplate
  }
  return {
    save,
    /** Saves a template, which must succeed, and returns it. */
    async mustSave(key: string, input: object = {}) {
      const answer = await save(key, input)
      expect(answer.template).toBeDefined()
      return answer.template as SavedTemplate & Record<string, unknown>
    },
    async remove(key: string, id: string) {
      const { data, errors } = await app.graphql(key, deleteMutation, { input: { id } })
      expect(errors).toBeUndefined()
      return data.deleteTemplate
    },
    /** Finds a template by its hash, by its id, and twice as a node, in this order. */
    async find(key: string, { id, hashId }: SavedTemplate) {
      const query = `query ($id: ID!, $hashId: String!) { id: template(id: $id) { ${templateSelection} }
        hash: template(hashId: $hashId) { ${templateSelection} } node(id: $id) { ... on Template { ${templateSelection} } }
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
