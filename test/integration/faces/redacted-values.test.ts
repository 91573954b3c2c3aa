// No error repeats a password in the wrong place, whether it came in a variable or in the document.

import { coerceInputValue, type GraphQLError, type GraphQLLeafType, isLeafType, parseValue } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redactMessage } from '../../../src/graphql/redact-values.ts'
import { schema } from '../../../src/graphql/schema.ts'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
})

afterAll(() => app.close())

const secret = 'hunter2'
const quote = 'query ($input: RentInstanceInput!) { rentQuote(input: $input) { waits } }'

async function errorMessages(query: string, variables?: object): Promise<string[]> {
  const { errors } = await app.graphql(key, query, variables)
  expect(JSON.stringify([errors, app.logLines])).not.toContain(secret)
  return errors?.map(({ message }) => message) ?? []
}

const specErrors = async (spec: object) =>
  await errorMessages(quote, { input: { offerId: '1', spec: { source: { image: 'ubuntu' }, ...spec } } })
const errorAt = (path: string, reason: string) => [
  `Variable "$input" got invalid value at "input.spec.${path}"; ${reason}`,
]
const itsFields = ' It takes these fields: "host", "username", "password".'
const rentInput =
  '"RentInstanceInput" is an object, such as {"offerId": "…", "spec": {"source": {"image": "…"}}}. It takes these fields: "offerId", "terms", "spec", "failIfUnavailable", "idempotencyKey".'

describe('an error about a variable', () => {
  it('names the path and the reason but not the value', async () => {
    expect(await specErrors({ env: [{ name: 'A', value: secret, secrt: true }] })).toEqual(
      errorAt('env[0]', 'Field "secrt" is not defined by type "EnvVarInput". Did you mean "secret"?'),
    )
    expect(await specErrors({ env: [{ name: 'A', value: { is: secret }, secret: true }] })).toEqual(
      errorAt('env[0].value', 'String cannot represent a non string value: an object.'),
    )
    expect(await specErrors({ env: [{ name: 'A', value: '', secret }] })).toEqual(
      errorAt('env[0].secret', 'Boolean cannot represent a non boolean value: a string.'),
    )
    expect(await specErrors({ registry: secret })).toEqual(
      errorAt(
        'registry',
        `"RegistryCredentialInput" is an object, such as {"host": "…", "username": "…"}.${itsFields}`,
      ),
    )
    expect(await specErrors({ registry: { host: 'h', password: secret } })).toEqual(
      errorAt('registry', 'Field "username" of required type "String!" was not provided.'),
    )
    expect(await specErrors({ source: { image: secret, template: { by: { hashId: secret } } } })).toEqual(
      errorAt(
        'source',
        '"LaunchSourceInput" is an object, such as {"image": "…"}. It takes exactly one of these fields: "image", "template".',
      ),
    )
    expect(await specErrors({ ports: [{ containerPort: secret }] })).toEqual(
      errorAt('ports[0].containerPort', 'Int cannot represent non-integer value: a string.'),
    )
    expect(await errorMessages(quote, { input: secret })).toEqual([`Variable "$input" got invalid value; ${rentInput}`])
  })

  it('redacts values that imitate the rest of the message', async () => {
    for (const image of [`" at "${secret}"; x`, `at "${secret}`, `; ${secret} at "input.spec`, `a\\" at "${secret}"`]) {
      expect(await specErrors({ source: { image: [image] } })).toEqual(
        errorAt('source.image', 'String cannot represent a non string value: a list.'),
      )
      expect(await specErrors({ kind: `${image}" does not exist in "InstanceKind" enum. ${secret}` })).toEqual(
        errorAt('kind', 'Value does not exist in "InstanceKind" enum. There are "CONTAINER", "VM".'),
      )
      expect(await errorMessages(quote, { input: image })).toEqual([
        `Variable "$input" got invalid value; ${rentInput}`,
      ])
    }
  })

  it('repeats the value only if it is like a value of the enum', async () => {
    expect(await specErrors({ kind: 'contaner' })).toEqual(
      errorAt('kind', '"contaner" is not a value of the enum "InstanceKind". Did you mean "CONTAINER"?'),
    )
  })

  it('repeats numbers where numbers are meant', async () => {
    expect(await specErrors({ ports: [{ containerPort: 1.5 }] })).toEqual(
      errorAt('ports[0].containerPort', 'Int cannot represent non-integer value: 1.5.'),
    )
    expect(await specErrors({ registry: { host: 'h', username: 'u', password: 12_345 } })).toEqual(
      errorAt('registry.password', 'String cannot represent a non string value: a number.'),
    )
  })
})

describe('an error about a literal in the document', () => {
  it.each([
    [
      '{ offers(first: "hunter2") { nodes { id } } }',
      'Invalid value at "first"; Int cannot represent non-integer value: a string.',
    ],
    [
      '{ offers(filter: { gpuName: { eq: ["hunter2"] } }) { nodes { id } } }',
      'Invalid value at "filter.gpuName.eq"; String cannot represent a non string value: a list.',
    ],
    [
      '{ rentQuote(input: { offerId: "1", spec: { source: { image: "u" }, registry: "hunter2" } }) { waits } }',
      `Invalid value at "input.spec.registry"; "RegistryCredentialInput" is an object, such as {host: "…", username: "…"}.${itsFields}`,
    ],
    [
      '{ rentQuote(input: { offerId: "1", spec: { source: { image: "u" }, kind: "hunter2" } }) { waits } }',
      'Invalid value at "input.spec.kind"; Value does not exist in "InstanceKind" enum. There are "CONTAINER", "VM".',
    ],
    [
      '{ offers(filter: { region: [hunter2] }) { nodes { id } } }',
      'Invalid value at "filter.region[0]"; Value does not exist in "Region" enum. There are "AFRICA", "ASIA", "EUROPE", "MIDDLE_EAST", "NORTH_AMERICA", "OCEANIA", "SOUTH_AMERICA".',
    ],
    ['{ offers(first: """hunter2""" "hunter2") { nodes { id } } }', 'Syntax Error: Expected Name, found String.'],
    ['{ offers(first: 1 """hunter2""") { nodes { id } } }', 'Syntax Error: Expected Name, found BlockString.'],
  ])('omits the value: %s', async (query, message) => {
    expect(await errorMessages(query)).toEqual([message])
  })
})

it('an error about a value of an enum in quotes says so', async () => {
  const query = '{ offers(filter: { region: ["EUROPE"] }) { nodes { id } } }'
  expect(await errorMessages(query)).toEqual([
    'Invalid value at "filter.region[0]"; A value of the enum "Region" must be written without quotes.',
  ])
})

// All leaf types of the schema are tested, so a new scalar that repeats a rejected value fails here.
describe('the error of a leaf type', () => {
  const types = Object.values(schema.getTypeMap()).filter(isLeafType)
  const errorsOf = (type: GraphQLLeafType, value: unknown, literal: string) => {
    const messages: string[] = []
    coerceInputValue(value, type, (_path, _value, error) => messages.push(redactMessage(error)))
    try {
      type.parseLiteral(parseValue(literal), {})
    } catch (error) {
      messages.push(redactMessage(error as GraphQLError))
    }
    return messages
  }

  it.each(types.map(type => [type.name, type] as const))('does not repeat a rejected value: %s', (_, type) => {
    const messages = [
      errorsOf(type, secret, JSON.stringify(secret)),
      errorsOf(type, [secret], `[{ is: "${secret}" }]`),
    ].flat()
    expect(messages.length).toBeGreaterThanOrEqual(2)
    expect(messages.filter(message => message.includes(secret))).toEqual([])
  })
})
