// What to select in place of a field that a type does not have.

import {
  type GraphQLCompositeType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isLeafType,
  isUnionType,
} from 'graphql'
import { askForOneOf } from '../../domain/nearest.ts'
import { type Member, membersOf, waysMeantBy, waysTo } from './ways.ts'

const maxFragments = 3

/** The end of a message; empty if the schema has nothing like the field. */
export function suggestSelection(schema: GraphQLSchema, type: GraphQLCompositeType, field: string): string {
  const result = selectResult(type, field)
  if (result) return result
  const meant = isAbstractType(type)
    ? fragmentsWith(field, schema.getPossibleTypes(type))
    : waysMeantBy(field, membersOf(type)).map(way => (way.length === 1 ? way[0].name : printWay(way)))
  return askForOneOf(meant.map(each => `"${each}"`))
}

/** How to select what a mutation returns, and this field of it if there is one. Empty for other types. */
export function selectResult(type: GraphQLCompositeType, field = ''): string {
  const types = isUnionType(type) ? type.getTypes() : []
  const errors = types.filter(isError)
  const [success, ...others] = types.filter(each => !isError(each))
  if (!success || others.length > 0) return ''
  const isOfAllErrors = errors.some(error => error.getInterfaces().some(each => field in each.getFields()))
  const [way] = isOfAllErrors ? [] : waysTo(field, membersOf(success))
  const [fragment = '... on Error { code message }'] = isOfAllErrors || way ? [] : fragmentsWith(field, errors)
  return ` Select "${fragmentOn(success, way ?? membersOf(success).slice(0, 1))}" and "${fragment}".`
}

function isError(type: GraphQLObjectType): boolean {
  return type.getInterfaces().some(({ name }) => name === 'Error')
}

function fragmentsWith(field: string, types: readonly GraphQLObjectType[]): string[] {
  return types
    .flatMap(type => membersOf(type).flatMap(member => (member.name === field ? [fragmentOn(type, [member])] : [])))
    .slice(0, maxFragments)
}

function fragmentOn(type: GraphQLObjectType, way: readonly Member[]): string {
  return `... on ${type.name} { ${printWay(way)} }`
}

/** The last field has a field inside if it needs one. */
function printWay(way: readonly Member[]): string {
  const last = way.at(-1)
  const names = way.map(({ name }) => name)
  if (last && !isLeaf(last)) names.push(firstLeafOf(last))
  return names.reduceRight((inner, name) => `${name} { ${inner} }`)
}

function firstLeafOf({ type }: Member): string {
  const leaves = membersOf(type).filter(isLeaf)
  return (leaves.find(({ name }) => name === 'id') ?? leaves[0])?.name ?? '__typename'
}

function isLeaf({ type }: Member): boolean {
  return isLeafType(getNamedType(type))
}
