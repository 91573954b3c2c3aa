// What GraphQL's errors about the shape of a request say instead. Each way that they show must itself be valid.

import {
  buildSchema,
  coerceInputValue,
  FieldsOnCorrectTypeRule,
  getVariableValues,
  isInputObjectType,
  isObjectType,
  isUnionType,
  type OperationDefinitionNode,
  parse,
  parseValue,
  printSchema,
  ScalarLeafsRule,
  specifiedRules,
  validate,
  valueFromAST,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { explain } from '../../../src/graphql/errors/explain.ts'
import { describeInput } from '../../../src/graphql/errors/inputs.ts'
import { selectResult, suggestSelection } from '../../../src/graphql/errors/selections.ts'
import { validateWithinLimits } from '../../../src/graphql/limits/validate.ts'
import { redactMessage } from '../../../src/graphql/redact-values.ts'
import { schema } from '../../../src/graphql/schema.ts'

const messagesOf = (query: string) =>
  validateWithinLimits(schema, parse(query), specifiedRules).map(({ message }) => message)

const rent = 'Select "... on RentInstanceSuccess { instance { id } }" and "... on Error { code message }".'

describe('a selection of what a mutation returns says where it is', () => {
  const select = (fields: string) =>
    messagesOf(`mutation { rentInstance(input: {offerId: "1", spec: {source: {image: "u"}}}) ${fields} }`)
  const cannot = (field: string) => `Cannot query field "${field}" on type "RentInstanceResult".`

  it.each([
    ['a field of the success', '{ id }', `${cannot('id')} ${rent}`],
    [
      'a field inside it',
      '{ status }',
      `${cannot('status')} Select "... on RentInstanceSuccess { instance { status } }" and "... on Error { code message }".`,
    ],
    ['a field of all errors', '{ message }', `${cannot('message')} ${rent}`],
    [
      'a field of one error',
      '{ hostMinimumBidPerHour }',
      `${cannot('hostMinimumBidPerHour')} Select "... on RentInstanceSuccess { instance { id } }" and "... on BidTooLowError { hostMinimumBidPerHour }".`,
    ],
    ['a field of nothing', '{ nothing }', `${cannot('nothing')} ${rent}`],
    ['no field', '', `Field "rentInstance" of type "RentInstanceResult" must have a selection of subfields. ${rent}`],
    [
      'a fragment on what is inside it',
      '{ ... on Instance { id } }',
      `Fragment cannot be spread here as objects of type "RentInstanceResult" can never be of type "Instance". ${rent}`,
    ],
  ])('%s', (_, fields, message) => {
    expect(select(fields)).toEqual([message])
  })

  it('for every mutation, with selections that are valid', () => {
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
    expect(mutations.length).toBeGreaterThan(30)
    for (const { type } of mutations) {
      const result = isUnionType(type) ? type : expect.fail(`${type} is no union.`)
      const [success, error] = [...selectResult(result).matchAll(/"([^"]+)"/g)].map(([, text]) => text)
      expect(validate(schema, parse(`fragment F on ${result.name} { ${success} ${error} }`), selectionRules)).toEqual(
        [],
      )
    }
  })
})

const selectionRules = [FieldsOnCorrectTypeRule, ScalarLeafsRule]

describe('a field that is elsewhere', () => {
  it.each([
    [
      '{ offers { nodes { country } } }',
      'Cannot query field "country" on type "Offer". Did you mean "machine { country }"?',
    ],
    ['{ offers { id } }', 'Cannot query field "id" on type "OfferConnection". Did you mean "nodes { id }"?'],
    ['{ offer(id: 1) { machineId } }', 'Cannot query field "machineId" on type "Offer". Did you mean "machine"?'],
    ['{ viewer { credit } }', 'Cannot query field "credit" on type "Viewer". Did you mean "account { credit }"?'],
    [
      '{ webhooks { id } }',
      'Cannot query field "webhooks" on type "Query". Did you mean "viewer { account { webhooks { id } } }"?',
    ],
    [
      '{ instance(id: 1) { sshCommand } }',
      'Cannot query field "sshCommand" on type "Instance". Did you mean "connection { sshCommand }"?',
    ],
    [
      '{ node(id: 1) { sshKeys { id } } }',
      'Cannot query field "sshKeys" on type "Node". Did you mean "... on Account { sshKeys { id } }" or "... on Instance { sshKeys { id } }"?',
    ],
    [
      'mutation { terminateInstance { id } }',
      'Cannot query field "terminateInstance" on type "Mutation". Did you mean "destroyInstance"?',
    ],
    [
      'mutation { deleteInstances { id } }',
      'Cannot query field "deleteInstances" on type "Mutation". Did you mean "destroyInstances"?',
    ],
    [
      'mutation { restartInstance { id } }',
      'Cannot query field "restartInstance" on type "Mutation". Did you mean "rebootInstance"?',
    ],
    [
      'mutation { removeSshKey { id } }',
      'Cannot query field "removeSshKey" on type "Mutation". Did you mean "deleteSshKey"?',
    ],
    ['{ viewr { id } }', 'Cannot query field "viewr" on type "Query". Did you mean "viewer"?'],
    ['{ id }', 'Cannot query field "id" on type "Query".'],
    [`{ ${'x'.repeat(61)} }`, `Cannot query field "${'x'.repeat(61)}" on type "Query".`],
  ])('%s', (query, message) => {
    expect(messagesOf(query)).toEqual([message])
  })

  it.each(['Query', 'Offer', 'OfferConnection', 'Instance', 'LaunchConfig'])('of %s is shown by valid ways', name => {
    const objects = Object.values(schema.getTypeMap()).filter(isObjectType)
    const type = objects.find(each => each.name === name) ?? expect.fail(`There is no ${name}.`)
    const fields = new Set(objects.flatMap(each => Object.keys(each.getFields())))
    let shown = 0
    for (const field of fields) {
      if (field in type.getFields()) continue
      for (const [, way = ''] of suggestSelection(schema, type, field).matchAll(/"([^"]+)"/g)) {
        // A name that is only alike.
        if (way in type.getFields()) continue
        shown += 1
        expect(validate(schema, parse(`fragment F on ${name} { ${way} }`), selectionRules)).toEqual([])
      }
    }
    expect(shown).toBeGreaterThan(10)
  })
})

describe('an input that is elsewhere', () => {
  it.each([
    [
      '{ offers(country: "DE") { __typename } }',
      'Unknown argument "country" on field "Query.offers". Did you mean filter: {country: {eq: "…"}}?',
    ],
    [
      '{ rentQuote(input: {offerId: 1, spec: {source: {image: "u"}, image: "u"}}) { __typename } }',
      'Field "image" is not defined by type "InstanceSpecInput". Did you mean source: {image: "…"}?',
    ],
    [
      '{ offers(filter: {numGpu: {eq: 1}}) { __typename } }',
      'Field "numGpu" is not defined by type "OfferFilter". Did you mean "numGpus"?',
    ],
  ])('%s', (query, message) => {
    expect(messagesOf(query)).toEqual([message])
  })
})

const strings = ['"eq"', '"neq"', '"in"', '"nin"', '"contains"', '"startsWith"'].join(', ')
const numbers = ['"eq"', '"neq"', '"gt"', '"gte"', '"lt"', '"lte"', '"in"', '"nin"'].join(', ')
const regions = ['"AFRICA"', '"ASIA"', '"EUROPE"', '"MIDDLE_EAST"', '"NORTH_AMERICA"', '"OCEANIA"', '"SOUTH_AMERICA"']
const spec = (fields: string) => `rentQuote(input: {offerId: 1, spec: {source: {image: "u"}, ${fields}}})`

describe('a value of another shape', () => {
  it.each([
    [
      'offers(filter: {gpuName: "RTX 4090"})',
      'filter.gpuName',
      `"StringFilter" is an object, such as {eq: "…"}. It takes these fields: ${strings}.`,
    ],
    [
      'offers(filter: {numGpus: 4})',
      'filter.numGpus',
      `"IntFilter" is an object, such as {eq: 1}. It takes these fields: ${numbers}.`,
    ],
    ['offers(filter: 1)', 'filter', '"OfferFilter" is an object, such as {availability: AVAILABLE}.'],
    [
      'offers(orderBy: PRICE_PER_HOUR)',
      'orderBy',
      '"OfferOrder" is an object, such as {field: PRICE_PER_HOUR}. It takes these fields: "field", "direction".',
    ],
    [
      'offers(filter: {region: {eq: "Europe"}})',
      'filter.region',
      `The enum "Region" takes a value by itself, such as AFRICA. There are ${regions.join(', ')}.`,
    ],
    [
      'rentQuote(input: {offerId: 1, spec: {source: {}}})',
      'input.spec.source',
      '"LaunchSourceInput" is an object, such as {image: "…"}. It takes exactly one of these fields: "image", "template".',
    ],
    [
      spec('ports: [{containerPort: 80}, 8080]'),
      'input.spec.ports[1]',
      '"PortMappingInput" is an object, such as {containerPort: 1}. It takes these fields: "containerPort", "hostPort", "protocol".',
    ],
    [
      spec('mode: SSH'),
      'input.spec.mode',
      '"LaunchModeInput" is an object, such as {ssh: {direct: true}}. It takes exactly one of these fields: "ssh", "jupyter", "args".',
    ],
  ])('in the document says what is expected: %s', (field, place, message) => {
    expect(messagesOf(`{ ${field} { __typename } }`)).toEqual([`Invalid value at "${place}"; ${message}`])
  })

  it.each<[string, unknown, string]>([
    [
      'OfferFilter',
      { gpuName: 'RTX 4090' },
      ` at "x.gpuName"; "StringFilter" is an object, such as {"eq": "…"}. It takes these fields: ${strings}.`,
    ],
    [
      '[OfferOrder!]',
      ['PRICE_PER_HOUR'],
      ' at "x[0]"; "OfferOrder" is an object, such as {"field": "PRICE_PER_HOUR"}. It takes these fields: "field", "direction".',
    ],
    [
      'OfferFilter',
      { region: { eq: 'EUROPE' } },
      ` at "x.region"; The enum "Region" takes a value by itself, such as "AFRICA". There are ${regions.join(', ')}.`,
    ],
    [
      'LaunchSourceInput',
      {},
      '; "LaunchSourceInput" is an object, such as {"image": "…"}. It takes exactly one of these fields: "image", "template".',
    ],
    [
      'InstanceSpecInput',
      { source: { image: 'u' }, template: 'trainer' },
      '; Field "template" is not defined by type "InstanceSpecInput". Did you mean "source": {"template": {"by": {"id": "…"}}}?',
    ],
  ])('in a variable says what is expected, as JSON: %s %j', (type, value, message) => {
    const { definitions } = parse(`query ($x: ${type}) { __typename }`)
    const { variableDefinitions = [] } = definitions[0] as OperationDefinitionNode
    const { errors = [] } = getVariableValues(schema, variableDefinitions, { x: value })
    const messages = errors.map(error => explain(redactMessage(error), schema))
    expect(messages).toEqual([`Variable "$x" got invalid value${message}`])
  })

  /** Takes any text for a time or an amount. */
  const lenient = buildSchema(printSchema(schema))
  const inputs = Object.values(lenient.getTypeMap()).filter(isInputObjectType)

  it.each(inputs.map(type => [type.name, type] as const))('has an example that is valid: %s', (_, type) => {
    const exampleIn = (notation: 'document' | 'json') =>
      /such as (\{.*\})\.( It takes|$)/.exec(describeInput(type, notation))?.[1] ?? ''
    expect(valueFromAST(parseValue(exampleIn('document')), type)).toBeTypeOf('object')
    expect(coerceInputValue(JSON.parse(exampleIn('json')), type)).toBeTypeOf('object')
  })
})

it('a message about something else stays as it is', () => {
  for (const message of [
    'Syntax Error: Expected Name, found Int.',
    'Expected value of type "Int!".',
    'x "Offer"; y',
    '',
  ])
    expect(explain(message, schema)).toBe(message)
})
