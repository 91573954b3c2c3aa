// Queries for everything that the schema lets a client read, made from the schema itself, so that a new field is asked too.

import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  isUnionType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { fieldsWithPermission } from '../../../src/graphql/permission.ts'
import { schema } from '../../../src/graphql/schema.ts'

type Field = GraphQLField<unknown, unknown>
/** The id of one item of each type, by the name of the type. */
export type Ids = ReadonlyMap<string, string>

/** Arguments that cannot be made from their types, or that make more be answered, or for less. */
const argumentExamples: Record<string, (ids: Ids) => string | undefined> = {
  'Query.rentQuote': ids =>
    ids.has('Offer') ? `(input: { offerId: "${ids.get('Offer')}", spec: { source: { image: "ubuntu" } } })` : undefined,
  'Instance.logs': () => '(tail: 1)',
  'Instance.metrics': () => '(lastSeconds: 15, resolutionSeconds: 15)',
  'Account.usage': () => '(bucket: MONTH, groupBy: [INSTANCE, VOLUME, API_KEY, GPU_MODEL, TEMPLATE])',
}

const scalarExamples: Record<string, string> = { String: '"x"', Int: '1', Float: '1', Boolean: 'true', Usd: '"1"' }

/** Fields whose value depends on the key, not only on whether it may ask. Their response names start with `ownView`. */
const dependingOnKey = [
  'Query.events',
  'Viewer.apiKey',
  'ApiKey.current',
  'OfferUnavailableError.alternatives',
  'RentQuote.blockers',
  'RentQuote.rentable',
  'Webhook.recentDeliveries',
]
const ownView = 'ownView__'
export const isOwnView = (step: unknown) => String(step).startsWith(ownView)

/** The name of the field that has this name in the answer. */
export const fieldNameOf = (step: unknown) => String(step).split('__').at(-1)

/** Every type that implements Node. */
export function nodeTypes(): string[] {
  const node = schema.getType('Node')
  if (!isInterfaceType(node)) throw new Error('There is no interface Node.')
  return schema.getPossibleTypes(node).map(({ name }) => name)
}

/**
 * A query for each root field, each field of the account, and each item: one query for all would cost too much. Fields that
 * take an id are left out while `ids` has none of their type.
 */
export function queriesOf(ids: Ids): Map<string, string> {
  const queries = new Map<string, string>()
  const add = (name: string, selection: string, wrap = (text: string) => text) => {
    if (selection) queries.set(name, `{ ${wrap(selection)} }`)
  }
  const generic = ['node', 'nodes', 'viewer']
  for (const field of fieldsOf('Query')) {
    if (!generic.includes(field.name)) add(field.name, select('Query', field, ['Query'], ids))
  }
  for (const field of fieldsOf('Viewer')) {
    if (field.name === 'account') continue
    add(
      `viewer ${field.name}`,
      select('Viewer', field, ['Query', 'Viewer'], ids),
      text => `viewer { __typename ${text} }`,
    )
  }
  for (const field of fieldsOf('Account')) {
    const selection = select('Account', field, ['Query', 'Viewer', 'Account'], ids)
    add(`account ${field.name}`, selection, text => `viewer { __typename account { __typename ${text} } }`)
  }
  for (const [type, id] of ids) {
    // All fields of the account at once cost too much.
    const fields = type === 'Account' ? 'id' : `... on ${type} { ${selectAll(type, ['Query'], ids)} }`
    // A key sees only events of items that it may read.
    const name = type === 'Event' ? `${ownView}node: node` : 'node'
    add(`node ${type}`, `${name}(id: "${id}") { __typename ${fields} }`)
    add(`nodes ${type}`, `${name.replaceAll('node', 'nodes')}(ids: ["${id}"]) { __typename id }`)
  }
  return queries
}

function fieldsOf(name: string): Field[] {
  const type = schema.getType(name)
  if (!isObjectType(type) && !isInterfaceType(type)) throw new Error(`${name} has no fields.`)
  return Object.values(type.getFields())
}

/** The field with everything below it, in this response name. Empty if it cannot be asked here. */
function select(parent: string, field: Field, above: string[], ids: Ids, responseName = field.name): string {
  const args = argumentsOf(parent, field, ids)
  const type = getNamedType(field.type)
  if (args === undefined || above.includes(type.name)) return ''
  // An item that names another of its type is outside of it.
  const outside = type.name === parent ? [...above, parent] : above
  const below = field.name === 'edges' ? ' { cursor }' : selectionOf(field.type, outside, ids)
  const name = dependingOnKey.includes(`${parent}.${field.name}`) ? `${ownView}${field.name}` : responseName
  return `${name === field.name ? '' : `${name}: `}${field.name}${args}${below}`
}

/** Empty for a leaf. */
function selectionOf(output: GraphQLOutputType, above: string[], ids: Ids): string {
  const type = getNamedType(output)
  if (isLeafType(type)) return ''
  if (type.name === 'Node') return ' { __typename id }'
  if (!isAbstractType(type)) return ` { __typename ${selectAll(type.name, [...above, type.name], ids)} }`
  const possible = schema.getPossibleTypes(type).map(({ name }) => name)
  const parts = possible.map(name => {
    const selections = fieldsOf(name).map(field => {
      const sameName = possible.flatMap(fieldsOf).filter(other => other.name === field.name)
      const isAmbiguous = sameName.some(other => String(other.type) !== String(field.type))
      return select(name, field, [...above, type.name, name], ids, isAmbiguous ? `${name}__${field.name}` : field.name)
    })
    return `... on ${name} { ${selections.join(' ')} }`
  })
  return ` { __typename ${parts.join(' ')} }`
}

/** Inside another item, an item has only its leaves; as one of several types, only its id. Every item is also asked alone. */
function selectAll(type: string, above: string[], ids: Ids): string {
  const outside = nodeTypes().includes(type) ? above.slice(0, -1) : []
  const isOneOfSeveral = outside.some(name => isAbstractType(schema.getType(name)))
  const isInside = outside.some(name => nodeTypes().includes(name))
  const fields = fieldsOf(type).filter(({ name, type }) =>
    isOneOfSeveral ? name === 'id' : !isInside || isLeafType(getNamedType(type)),
  )
  return fields.map(field => select(type, field, above, ids)).join(' ')
}

/** The arguments that are required, and pages of one item. Undefined while the id that the field takes is unknown. */
function argumentsOf(parent: string, field: Field, ids: Ids): string | undefined {
  const example = argumentExamples[`${parent}.${field.name}`]
  if (example) return example(ids)
  const target = getNamedType(field.type).name
  const given = field.args.filter(arg => isRequiredArgument(arg) || arg.name === 'first')
  const values = given.map(arg => [arg.name, arg.name === 'first' ? '1' : exampleOf(arg, target, ids)])
  if (values.some(([, value]) => value === undefined)) return undefined
  return values.length > 0 ? `(${values.map(pair => pair.join(': ')).join(', ')})` : ''
}

function exampleOf(arg: Pick<GraphQLArgument, 'name' | 'type'>, target: string, ids: Ids): string | undefined {
  const type: GraphQLInputType = getNamedType(arg.type)
  if (type.name === 'ID') return ids.has(target) ? `"${ids.get(target)}"` : undefined
  if (isEnumType(type)) return type.getValues()[0]?.name
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields())
    const one = fields.find(({ name }) => name === 'id') ?? fields[0]
    const given = fields.filter(field => (type.isOneOf ? field === one : isRequiredInputField(field)))
    const values = given.map(field => [field.name, exampleOf(field, target, ids)])
    return values.some(([, value]) => value === undefined)
      ? undefined
      : `{ ${values.map(pair => pair.join(': ')).join(', ')} }`
  }
  if (scalarExamples[type.name]) return scalarExamples[type.name]
  throw new Error(`Add an example to argumentExamples for ${target}: no value of ${arg.name}: ${arg.type} can be made.`)
}

const permissionsByField = new Map(
  fieldsWithPermission(schema).map(({ type, field, requirement }) => [
    `${type}.${field.name}`,
    requirement.permissions,
  ]),
)

/** The permissions that the field `Type.field` declares. */
export function permissionsOf(field: string): readonly string[] {
  return permissionsByField.get(field) ?? []
}

/** Whether `Type.field` finds an item of any type. */
export function findsAnyItem(field: string): boolean {
  const [type = '', name] = field.split('.')
  return fieldsOf(type).some(one => one.name === name && getNamedType(one.type).name === 'Node')
}

/** An operation for each root field of the type, which asks it for as little as can be asked. */
export function smallestOperations(root: 'Query' | 'Mutation' | 'Subscription'): [field: string, operation: string][] {
  // Every item has an id of 1. Whether it exists comes after the permission.
  const ids: Ids = new Map(Object.keys(schema.getTypeMap()).map(name => [name, '1']))
  return fieldsOf(root).map(field => {
    const below = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'
    return [field.name, `${root.toLowerCase()} { ${field.name}${argumentsOf(root, field, ids)}${below} }`]
  })
}

/** Every field of every type that a query can answer. */
export function readableFields(): Set<string> {
  const types = new Set<string>()
  const collect = (output: GraphQLOutputType) => {
    const type = getNamedType(output)
    if (isLeafType(type) || types.has(type.name)) return
    types.add(type.name)
    if (isAbstractType(type)) for (const one of schema.getPossibleTypes(type)) collect(one)
    if (!isUnionType(type)) for (const field of fieldsOf(type.name)) collect(field.type)
  }
  collect(schema.getQueryType() as GraphQLOutputType)
  const objects = [...types].filter(name => isObjectType(schema.getType(name)))
  return new Set(objects.flatMap(type => fieldsOf(type).map(({ name }) => `${type}.${name}`)))
}

/** The fields that a query asks, as `Type.field`. */
export function fieldsAsked(query: string): Set<string> {
  const info = new TypeInfo(schema)
  const asked = new Set<string>()
  const Field = () => void asked.add(`${info.getParentType()?.name}.${info.getFieldDef()?.name}`)
  visit(parse(query), visitWithTypeInfo(info, { Field }))
  return asked
}
