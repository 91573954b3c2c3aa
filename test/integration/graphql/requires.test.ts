// The permissions that fields declare with @requires are those that their services ask for. What queries ask for further
// down is compared in partial-answers.test.ts.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Operation,
  operationCategories,
  type Permissions,
} from '../../../src/domain/accounts/permissions/permissions.ts'
import { operationNames } from '../../../src/graphql/accounts/operation-names.ts'
import { fieldsWithPermission } from '../../../src/graphql/permission.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { permissionsOf, smallestOperations } from '../../support/faces/whole-schema.ts'
import { subscribeSse } from '../../support/streams.ts'

const roots = ['Query', 'Mutation', 'Subscription'] as const
/** Who asks needs no permission, and an item needs that of its own type. */
const undeclared = ['Query.node', 'Query.nodes', 'Query.rateLimit', 'Query.viewer']
const cases = roots.flatMap(root =>
  smallestOperations(root).flatMap(([name, operation]) =>
    permissionsOf(`${root}.${name}`).map(permission => [`${root}.${name}`, permission, operation] as const),
  ),
)
const operations = Object.keys(operationCategories) as Operation[]

let app: TestApp
let owner: string

beforeAll(async () => {
  app = await startApp()
  owner = await app.newKey()
  // The samples name the first key. What a key may do to another one also depends on the other one's permissions.
  await app.graphql(owner, 'mutation { deleteApiKey(input: { id: "1", force: true }) { __typename } }')
})

afterAll(() => app.close())

function permissionsFor(isAllowed: (name: string) => boolean): Permissions {
  const api: Record<string, object> = {}
  for (const operation of operations) {
    const category = operationCategories[operation]
    if (isAllowed(operationNames[operation])) api[category] = { ...api[category], [operation]: {} }
  }
  return { api }
}

/** The permissions that the field is refused for. */
async function missingFor(permissions: Permissions, operation: string): Promise<unknown[]> {
  const key = await app.newScopedKey(owner, permissions)
  if (!operation.startsWith('subscription')) {
    const { errors = [] } = await app.graphql(key, operation)
    return errors.flatMap(({ extensions }) => extensions['missing'] ?? [])
  }
  const stream = await subscribeSse(app.fetch, key, operation)
  // A refused stream is closed by now. One that was accepted may stay silent.
  const result = app.countStreams() > 0 ? undefined : await stream.next()
  await stream.close()
  await expect.poll(() => app.countStreams()).toBe(0)
  return result?.errors?.flatMap(({ extensions }) => extensions['missing'] ?? []) ?? []
}

it('is declared by every root field', () => {
  const all = roots.flatMap(root => smallestOperations(root).map(([name]) => `${root}.${name}`))
  expect(all.filter(field => permissionsOf(field).length === 0).toSorted()).toEqual(undeclared)
})

it('makes every field nullable that is no root field of a subscription', () => {
  const nonNull = fieldsWithPermission(schema).filter(({ field }) => String(field.type).endsWith('!'))
  expect(
    nonNull.filter(({ type }) => type !== 'Subscription').map(({ type, field }) => `${type}.${field.name}`),
  ).toEqual([])
})

describe('a root field', () => {
  it.each(cases)('%s is refused to a key that has every permission but %s', async (_field, permission, operation) => {
    expect(
      await missingFor(
        permissionsFor(name => name !== permission),
        operation,
      ),
    ).toEqual([permission])
  })

  it.each(cases)(
    '%s is not refused to a key that has only what it requires, with %s',
    async (field, _one, operation) => {
      expect(
        await missingFor(
          permissionsFor(name => permissionsOf(field).includes(name)),
          operation,
        ),
      ).toEqual([])
    },
  )
})
