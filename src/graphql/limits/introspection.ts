import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql'

/** Rough number of items in each list of the introspection schema. */
export const introspectionRepeats: Record<string, number> = {
  ...{ __type: 10, types: 100, directives: 10, fields: 10, args: 5, inputFields: 10 },
  ...{ enumValues: 10, possibleTypes: 30, interfaces: 2 },
}

/** The standard query reads the whole schema, in about the CPU time that this many fields take. */
const wholeSchemaCost = 7_000

/** What `__schema`, `__type` or `__typename` costs. Deep queries read far less than their estimate, since few types nest so deep. */
export function introspectionCost(field: FieldNode, fragments: ReadonlyMap<string, FragmentDefinitionNode>): number {
  return Math.min(readsOf(field), wholeSchemaCost)

  function readsOf({ name, selectionSet }: FieldNode): number {
    return selectionSet ? 1 + readsIn(selectionSet) * (introspectionRepeats[name.value] ?? 1) : 1
  }

  function readsIn({ selections }: SelectionSetNode): number {
    let sum = 0
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        sum += readsOf(selection)
        continue
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection
      if (fragment) sum += readsIn(fragment.selectionSet)
    }
    return sum
  }
}
