// Conditions of a filter that were given without a value, mostly because the client forgot a variable.

import { type GraphQLResolveInfo, Kind, type ValueNode } from 'graphql'

type Variables = GraphQLResolveInfo['variableValues']

/** The fields whose comparisons all lack a value, in the filter and its alternatives. They match everything. */
export function emptyFields(filter: object, path = 'filter'): string[] {
  return Object.entries(filter).flatMap(([name, value]) => {
    const place = `${path}.${name}`
    if (name === 'or') return [value ?? []].flat().flatMap((each, index) => emptyFields(each, `${place}.${index}`))
    const isComparison = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isComparison && Object.values(value).every(operand => operand == null) ? [place] : []
  })
}

/** Every place in the filter that is null, and every object in it without a field: what a filter that costs money may not have. */
export function emptyPlaces(filter: object, path = 'filter'): string[] {
  return Object.entries(filter).flatMap(([name, value]) => {
    const place = `${path}.${name}`
    if (value === null) return [place]
    if (typeof value !== 'object') return []
    return Array.isArray(value) || Object.keys(value).length > 0 ? emptyPlaces(value, place) : [place]
  })
}

/** The filter of a mutation's input as the document has it: null where it has a variable that the client did not send. */
export function writtenFilter(filter: object, { fieldNodes, variableValues }: GraphQLResolveInfo): object {
  const input = fieldNodes[0]?.arguments?.find(({ name }) => name.value === 'input')?.value
  const field = input?.kind === Kind.OBJECT ? input.fields.find(({ name }) => name.value === 'filter') : undefined
  return Object(withNulls(filter, field?.value, variableValues))
}

/** GraphQL leaves out the field of an object whose variable is absent. */
function withNulls(value: unknown, node: ValueNode | undefined, variables: Variables): unknown {
  if (node?.kind === Kind.VARIABLE) return Object.hasOwn(variables, node.name.value) ? value : null
  if (Array.isArray(value)) {
    // GraphQL takes one item for a list.
    const nodes = node?.kind === Kind.LIST ? node.values : [node]
    return value.map((item, index) => withNulls(item, nodes[index], variables))
  }
  if (node?.kind !== Kind.OBJECT) return value
  const fields = node.fields.map(field => {
    const name = field.name.value
    return [name, withNulls(Reflect.get(Object(value), name), field.value, variables)]
  })
  return { ...Object(value), ...Object.fromEntries(fields) }
}
