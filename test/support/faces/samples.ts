import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isUnionType,
} from 'graphql'
import { schema } from '../../../src/graphql/schema.ts'

/** An operation for every root field with its required arguments only. Every id in it is `id`. */
export function sampleOperations(id: string): { name: string; operation: string }[] {
  const roots = { query: schema.getQueryType(), mutation: schema.getMutationType() }
  return Object.entries(roots).flatMap(([kind, root]) =>
    Object.values(root?.getFields() ?? {}).map(({ name, args, type }) => {
      const given = requiredOnly(args).map(arg => `${arg.name}: ${sampleValue(arg.type, id)}`)
      const named = getNamedType(type)
      const refusal = isUnionType(named) ? ' ... on Error { code }' : ''
      // Every key may read itself, and so its viewer, but not the account.
      const fields = name === 'viewer' ? 'account { __typename }' : `__typename${refusal}`
      const selection = isLeafType(named) ? '' : ` { ${fields} }`
      return { name, operation: `${kind} { ${name}${given.length > 0 ? `(${given.join(', ')})` : ''}${selection} }` }
    }),
  )
}

function requiredOnly<Input extends GraphQLArgument | GraphQLInputField>(inputs: readonly Input[]): Input[] {
  return inputs.filter(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined)
}

const scalarSamples: Record<string, string> = {
  Boolean: 'true',
  DateTime: '"2027-01-01T00:00:00Z"',
  Float: '1',
  Int: '1',
  String: '"x"',
  Usd: '"1"',
}

function sampleValue(type: GraphQLInputType, id: string): string {
  const inner = getNullableType(type)
  if (isListType(inner)) return `[${sampleValue(inner.ofType, id)}]`
  if (isEnumType(inner)) return inner.getValues()[0]?.name ?? ''
  if (isInputObjectType(inner)) {
    const fields = Object.values(inner.getFields())
    const given = inner.isOneOf ? fields.slice(0, 1) : requiredOnly(fields)
    return `{ ${given.map(field => `${field.name}: ${sampleValue(field.type, id)}`).join(', ')} }`
  }
  if (inner.name === 'ID') return `"${id}"`
  return scalarSamples[inner.name] ?? '"x"'
}
