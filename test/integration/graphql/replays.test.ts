// One rule for repeated requests: they show the item as it is now, and are refused if the item is gone.

import { type GraphQLObjectType, type GraphQLUnionType, getNamedType, isObjectType } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schema } from '../../../src/graphql/schema.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listRepeatableFields, repeatableCases } from '../../support/faces/repeatable.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

/** What an update changes here. */
const changes: Record<string, [field: string, value: string]> = {
  Instance: ['label', 'changed'],
  SpendLimit: ['amount', '6'],
}

/** The field of a mutation's success that shows the item, and the item's type. */
function itemOf(mutation: string): { success: string; field: string; type: string } {
  const result = getNamedType(schema.getMutationType()?.getFields()[mutation]?.type) as GraphQLUnionType
  const success = result.getTypes().find(({ name }) => name.endsWith('Success')) as GraphQLObjectType
  for (const { name, type } of Object.values(success.getFields())) {
    const item = getNamedType(type)
    const isNode = isObjectType(item) && item.getInterfaces().some(one => one.name === 'Node')
    if (isNode) return { success: success.name, field: name, type: item.name }
  }
  throw new Error(`${mutation} answers with no item.`)
}

it.each(listRepeatableFields())('%s shows its item as it is now, and says when it is gone', async mutation => {
  const owner = await app.newKey(null, someCredit)
  const { success, field, type } = itemOf(mutation)
  const [changed, value] = changes[type] ?? ['name', 'changed']
  const given = repeatableCases[mutation]
  if (!given || !('graphql' in given)) throw new Error(`${mutation} has no case.`)
  const request = given.graphql((await given.prepare?.({ app, rentals: rentalsOf(app), owner })) ?? 0)

  async function send(document: string) {
    const { data, errors } = await app.graphql(owner, document)
    expect(errors).toBeUndefined()
    return data.answer
  }
  const repeat = () =>
    send(`mutation { answer: ${mutation}(input: { ${request}, idempotencyKey: "again" }) {
      ... on ${success} { replayed item: ${field} { id ${changed} } } ... on Error { code message } } }`)
  const read = () => send(`{ answer: node(id: "${first.item.id}") { id ... on ${type} { ${changed} } } }`)

  const first = await repeat()
  expect(first).toEqual({ replayed: false, item: await read() })

  await send(
    `mutation { answer: update${type}(input: { id: "${first.item.id}", ${changed}: "${value}" }) { __typename } }`,
  )
  expect(await repeat()).toEqual({ replayed: true, item: { id: first.item.id, [changed]: value } })

  const end = type === 'Instance' ? 'destroy' : 'delete'
  await send(`mutation { answer: ${end}${type}(input: { id: "${first.item.id}" }) { __typename } }`)
  const item = await read()
  // A request that names the item may say so before it looks for a stored answer.
  const gone = [
    { code: 'IDEMPOTENCY_KEY_REUSED', message: expect.stringContaining(`${first.item.id} no longer exists`) },
    { code: 'NOT_FOUND', message: expect.stringContaining(`${first.item.id} not found`) },
  ]
  expect(item ? [{ replayed: true, item }] : gone).toContainEqual(await repeat())
})
