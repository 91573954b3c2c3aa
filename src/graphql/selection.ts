// What the client asks for below a field, as a selection for a service.

import { queryFromInfo } from '@pothos/plugin-prisma'
import {
  BREAK,
  type FieldNode,
  type GraphQLResolveInfo,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  visit,
} from 'graphql'
import type { Context } from './context.ts'

type Step = { type: string; name: string } | { name: string }
/** Where an answer has its items. */
type Place = {
  /** In a field of one type of the answer, such as of the success of a mutation, or below it. */
  of?: Step | Step[]
  /** As one type of an interface. */
  typeName?: string
}

/** The selections of fields, by their places in the operation: the rows of a list have them in common. */
const selections = new WeakMap<GraphQLResolveInfo['fieldNodes'], { id: true }>()

/** What the client asks of the items that a field answers. It always has the `id`. */
export function selectionOf(context: Context, info: GraphQLResolveInfo, place?: Place): { id: true } {
  const { of = [], typeName } = place ?? {}
  const known = place ? undefined : selections.get(info.fieldNodes)
  if (known) return known
  const path = [of].flat()
  const { select } = queryFromInfo({ context, info, select: { id: true }, path, ...(typeName && { typeName }) })
  if (!place) selections.set(info.fieldNodes, select)
  return select
}

/** The same for items without an id, which their name identifies. It always has the `name`. */
export function namedSelectionOf(
  context: Context,
  info: GraphQLResolveInfo,
  { of = [] }: Pick<Place, 'of'> = {},
): { name: true } {
  return queryFromInfo({ context, info, select: { name: true }, path: [of].flat() }).select
}

/** The selections of pages that are the same in each request, by their fields in a document. Documents that repeat are kept. */
const pageSelections = new WeakMap<FieldNode, { id: true }>()
const withDirectives = new WeakMap<OperationDefinitionNode, boolean>()

/** The same for the items of a connection. */
export function pageSelectionOf(context: Context, info: GraphQLResolveInfo): { id: true } {
  const [field, ...merged] = info.fieldNodes
  const constant = merged.length === 0 && !hasDirectives(info) ? field : undefined
  const known = constant && pageSelections.get(constant)
  if (known) return known
  const { select } = queryFromInfo({ context, info, select: { id: true }, paths: [['nodes'], ['edges', 'node']] })
  if (constant) pageSelections.set(constant, select)
  return select
}

/** Whether the client asks for one of these fields below a field. A directive may still leave the field out. */
export function asksForAny({ fieldNodes, fragments }: GraphQLResolveInfo, names: readonly string[]): boolean {
  return fieldsBelow(fieldNodes, fragments, names).length > 0
}

/** The fields with this name of the items of a connection. */
export function itemFields({ fieldNodes, fragments }: GraphQLResolveInfo, name: string): FieldNode[] {
  const below = (fields: readonly FieldNode[], wanted: string) => fieldsBelow(fields, fragments, [wanted])
  return below([...below(fieldNodes, 'nodes'), ...below(below(fieldNodes, 'edges'), 'node')], name)
}

function fieldsBelow(
  parents: readonly { selectionSet?: SelectionSetNode | undefined }[],
  fragments: GraphQLResolveInfo['fragments'],
  names: readonly string[],
): FieldNode[] {
  return parents
    .flatMap(({ selectionSet }) => selectionSet?.selections ?? [])
    .flatMap(selection => {
      if (selection.kind === Kind.FIELD) return names.includes(selection.name.value) ? [selection] : []
      const inner = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value] : selection
      return inner ? fieldsBelow([inner], fragments, names) : []
    })
}

/** Directives such as `@include` make a selection depend on variables. */
function hasDirectives({ operation, fragments }: GraphQLResolveInfo): boolean {
  const known = withDirectives.get(operation)
  if (known !== undefined) return known
  let found = false
  const Directive = () => {
    found = true
    return BREAK
  }
  for (const definition of [operation, ...Object.values(fragments)]) visit(definition, { Directive })
  withDirectives.set(operation, found)
  return found
}

/** Whether a row came with a relation. Rows that were read whole, such as those of streams, have few of them. */
export function isRead(row: object, name: string): boolean {
  return name in row && Reflect.get(row, name) !== undefined
}
