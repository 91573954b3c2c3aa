// A small cache of a GraphQL client, as Apollo's: it keeps each object once, by type and id, and each field by its name
// and arguments. It knows nothing of a schema.

import {
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql'

type Json = Record<string, unknown>
type Reference = { __ref: string }

export function createNormalizedCache() {
  const objects = new Map<string, Json>()

  const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
  const rootOf = (query: string) => parse(query).definitions[0] as OperationDefinitionNode
  const fieldsOf = ({ selections }: SelectionSetNode) => selections.filter(each => each.kind === Kind.FIELD)

  function keyOf({ name, arguments: given = [] }: FieldNode, variables: Json): string {
    const values = given.map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables)])
    return `${name.value}(${JSON.stringify(Object.fromEntries(values.toSorted()))})`
  }

  const idOf = ({ __typename: type, id }: Json) => (type && id ? `${type}:${id}` : undefined)

  /** The object that is kept under the id, or one that is kept where it is. */
  function objectOf(id: string | undefined): Json {
    if (!id) return {}
    const stored = objects.get(id) ?? {}
    objects.set(id, stored)
    return stored
  }

  function writeValue(value: unknown, selections: SelectionSetNode | undefined, variables: Json): unknown {
    if (Array.isArray(value)) return value.map(each => writeValue(each, selections, variables))
    if (!isObject(value) || !selections) return value
    const id = idOf(value)
    const stored = objectOf(id)
    for (const field of fieldsOf(selections)) {
      const shown = (field.alias ?? field.name).value
      stored[keyOf(field, variables)] = writeValue(value[shown], field.selectionSet, variables)
    }
    return id ? { __ref: id } : stored
  }

  function readValue(value: unknown, selections: SelectionSetNode | undefined, variables: Json): unknown {
    if (Array.isArray(value)) return value.map(each => readValue(each, selections, variables))
    if (!isObject(value) || !selections) return value
    const stored = '__ref' in value ? (objects.get((value as Reference).__ref) ?? {}) : value
    return Object.fromEntries(
      fieldsOf(selections).map(field => [
        (field.alias ?? field.name).value,
        readValue(stored[keyOf(field, variables)], field.selectionSet, variables),
      ]),
    )
  }

  return {
    write(query: string, variables: Json, data: Json): void {
      const root = writeValue(data, rootOf(query).selectionSet, variables) as Json
      objects.set('ROOT', { ...objects.get('ROOT'), ...root })
    },
    /** What a component that shows the query would show now. */
    read: (query: string, variables: Json): unknown =>
      readValue(objects.get('ROOT') ?? {}, rootOf(query).selectionSet, variables),
  }
}
