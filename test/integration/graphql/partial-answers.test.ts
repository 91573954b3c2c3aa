// Everything that the schema lets a client read, asked by keys that lack one permission each, and while a machine does not
// answer: a field that is refused is null, and everything else is answered as for a key with full access.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Operation,
  operationCategories,
  type Permissions,
} from '../../../src/domain/accounts/permissions/permissions.ts'
import { operationNames } from '../../../src/graphql/accounts/operation-names.ts'
import { type GraphqlAnswer, startApp, type TestApp } from '../../support/app.ts'
import { findIds, makeEverything, replaceInstance } from '../../support/faces/everything.ts'
import {
  fieldNameOf,
  fieldsAsked,
  findsAnyItem,
  isOwnView,
  permissionsOf,
  queriesOf,
  readableFields,
} from '../../support/faces/whole-schema.ts'
import { muchCredit } from '../../support/instances/rentals.ts'

type Answers = Map<string, GraphqlAnswer>
type Json = Record<string | number, unknown>

const operations = Object.keys(operationCategories) as Operation[]

let app: TestApp
let owner: string
let queries: Map<string, string>
let full: Answers
let instanceId: string
const keys = new Map<Operation, string>()

beforeAll(async () => {
  app = await startApp()
  owner = await app.newKey(null, muchCredit)
  const { replaced, replacement } = await replaceInstance(app, owner)
  instanceId = await makeEverything(app, owner)
  for (const operation of operations) {
    const key = await app.newScopedKey(owner, allBut(operation))
    keys.set(operation, key)
    // From now on, `lastUsedAt` of all keys stays the same.
    await app.graphql(key, '{ __typename }')
  }
  queries = queriesOf(await findIds(app, owner))
  const others = `replaces { __typename id } replacedBy { __typename id }`
  for (const id of [replaced, replacement])
    queries.set(`instance ${id}`, `{ instance(id: "${id}") { __typename id ${others} } }`)
  full = await readAll(owner)
}, 120_000)

afterAll(() => app.close())

function allBut(missing: Operation): Permissions {
  const api: Record<string, object> = {}
  for (const operation of operations) {
    const category = operationCategories[operation]
    if (operation !== missing) api[category] = { ...api[category], [operation]: {} }
  }
  return { api }
}

async function readAll(key: string): Promise<Answers> {
  const answers: Answers = new Map()
  for (const [name, query] of queries) answers.set(name, await app.graphql(key, query))
  return answers
}

/**
 * The answer of a full key with null at each path that failed in the partial answer. Throws if an error took more away than
 * its own field.
 */
function withoutFailed({ data }: GraphqlAnswer, partial: GraphqlAnswer): Json {
  const expected: Json = structuredClone(data)
  for (const { path = [] } of partial.errors ?? []) {
    let [wanted, got] = [expected, partial.data as Json]
    for (const step of path.slice(0, -1) as string[]) {
      expect(got[step], `${path.join('.')} took ${step} away`).not.toBeNull()
      wanted = wanted?.[step] as Json
      got = got[step] as Json
    }
    const last = path.at(-1) as string
    expect(got[last], `${path.join('.')} failed and is not null`).toBeNull()
    if (wanted) wanted[last] = null
  }
  return expected
}

/** Leaves out what depends on the key itself. */
function withoutOwnViews(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOwnViews)
  if (typeof value !== 'object' || value === null) return value
  const shared = Object.entries(value).filter(([name]) => !isOwnView(name))
  return Object.fromEntries(shared.map(([name, one]) => [name, withoutOwnViews(one)]))
}

function expectAllButFailed(answers: Answers): void {
  for (const [name, answer] of answers) {
    const expected = withoutFailed(full.get(name) as GraphqlAnswer, answer)
    expect([name, withoutOwnViews(answer.data)]).toEqual([name, withoutOwnViews(expected)])
  }
}

/** Each field of an answer, as `Type.field`, with its value. */
function* fieldsIn(value: unknown, type?: string): Generator<[field: string, value: unknown]> {
  if (typeof value !== 'object' || value === null) return
  const { __typename: name = type, ...fields } = value as Json
  for (const [step, one] of Object.entries(fields)) {
    if (name !== undefined) yield [`${name}.${fieldNameOf(step)}`, one]
    yield* fieldsIn(one)
  }
}

/** The field that an error names, as `Type.field`. */
function failedField({ data }: GraphqlAnswer, path: unknown[]): string {
  const end = path.findLastIndex(step => typeof step === 'string')
  const parent = path.slice(0, end).reduce<Json>((value, step) => value[step as string] as Json, data)
  return `${parent['__typename'] ?? 'Query'}.${fieldNameOf(path[end])}`
}

const errorsOf = (answers: Answers) => [...answers.values()].flatMap(({ errors = [] }) => errors)

describe('a key with full access', () => {
  it('asks for every field that a query can answer', () => {
    const asked = new Set([...queries.values()].flatMap(query => [...fieldsAsked(query)]))
    const exceptions = [...readableFields()].filter(field => !asked.has(field))
    // An edge has the same items as `nodes`.
    expect(exceptions.filter(field => !field.endsWith('Edge.node'))).toEqual([])
  })

  it('has an answer to every query', () => {
    for (const [name, { data, errors }] of full) {
      expect([name, errors]).toEqual([name, undefined])
      // This gateway limits no requests.
      if (name !== 'rateLimit') expect([name, Object.values(data)]).not.toEqual([name, [null]])
    }
  })
})

it('answers every field that requires a permission, so that it can be refused', () => {
  const answered = new Set(
    [...full.values()].flatMap(({ data }) =>
      [...fieldsIn(data, 'Query')].flatMap(([field, value]) => (value === null ? [] : field)),
    ),
  )
  // Fields of an error need the refusal that the error is about.
  const isOfError = (field: string) => field.split('.')[0]?.endsWith('Error')
  const requiring = [...readableFields()].filter(field => permissionsOf(field).length > 0 && !isOfError(field))
  expect(requiring.filter(field => !answered.has(field))).toEqual([])
})

describe('a key that may do everything but one operation', () => {
  it.each(operations)(
    'reads everything but the fields that require %s',
    async operation => {
      const permission = operationNames[operation]
      const answers = await readAll(keys.get(operation) as string)
      for (const error of errorsOf(answers)) {
        expect(error.extensions).toMatchObject({ code: 'FORBIDDEN', missing: [permission] })
      }
      for (const answer of answers.values()) {
        const failed = (answer.errors ?? []).map(({ path = [] }) => failedField(answer, path))
        // An item needs the permission of its type.
        expect(failed.filter(field => !permissionsOf(field).includes(permission) && !findsAnyItem(field))).toEqual([])
        const answered = [...fieldsIn(answer.data, 'Query')].filter(([, value]) => value !== null)
        expect(answered.filter(([field]) => permissionsOf(field).includes(permission))).toEqual([])
      }
      expectAllButFailed(answers)
    },
    60_000,
  )
})

describe('while the machine of an instance does not answer', () => {
  it('reads everything but its logs', async () => {
    const { machine } = (await app.graphql(owner, `{ instance(id: "${instanceId}") { machine { id } } }`)).data.instance
    await app.operations.machines.unplug(Number(machine.id.slice('mch_'.length)))
    const answers = await readAll(owner)
    expect(errorsOf(answers).length).toBeGreaterThan(0)
    for (const { path, extensions } of errorsOf(answers)) {
      expect([fieldNameOf(path?.at(-1)), extensions['code']]).toEqual(['logs', 'UNAVAILABLE'])
    }
    expectAllButFailed(answers)
  }, 60_000)
})

describe('a mutation that is refused', () => {
  it('does not take away the secret that an earlier one answered', async () => {
    const key = keys.get('sshKeys.delete') as string
    const { status, data, errors } = await app.graphql(
      key,
      `mutation {
        createWebhook(input: { url: "https://hooks.invalid/", kinds: [INSTANCE_ENDING] }) { ... on CreateWebhookSuccess { secret } }
        deleteSshKey(input: { id: "ssh_1" }) { __typename }
      }`,
    )
    expect([status, data]).toEqual([200, { createWebhook: { secret: expect.any(String) }, deleteSshKey: null }])
    expect(errors).toMatchObject([
      { path: ['deleteSshKey'], extensions: { code: 'FORBIDDEN', missing: ['DELETE_SSH_KEY'] } },
    ])
  })
})
