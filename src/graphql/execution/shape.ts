// What the values of a type are, found out once for each type of the schema.

import {
  type GraphQLAbstractType,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql'

export type Shape = { isNonNull: boolean } & (
  | { kind: 'leaf'; type: GraphQLLeafType }
  | { kind: 'list'; item: Shape }
  | { kind: 'object'; type: GraphQLObjectType }
  | { kind: 'abstract'; type: GraphQLAbstractType }
)

const shapes = new WeakMap<GraphQLOutputType, Shape>()

export function shapeOf(type: GraphQLOutputType): Shape {
  const known = shapes.get(type)
  if (known) return known
  const shape = readShape(type)
  shapes.set(type, shape)
  return shape
}

function readShape(type: GraphQLOutputType): Shape {
  if (isNonNullType(type)) return { ...readShape(type.ofType), isNonNull: true }
  const isNonNull = false
  if (isListType(type)) return { isNonNull, kind: 'list', item: shapeOf(type.ofType) }
  if (isLeafType(type)) return { isNonNull, kind: 'leaf', type }
  return isAbstractType(type) ? { isNonNull, kind: 'abstract', type } : { isNonNull, kind: 'object', type }
}
