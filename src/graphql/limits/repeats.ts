// How often an operation selects one name in one place. The selections of a field that is selected twice are one place, and
// so is a fragment where it is spread.

import {
  type ASTVisitor,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql'
import { faceError } from '../errors/face-errors.ts'
import { operationLimits } from './operation-limits.ts'

type Fields = Map<string, FieldNode[]>

/**
 * Refuses an operation that repeats a field, because GraphQL compares each selection of a name with each other one. It walks
 * through each place, so `limitsRule` and the rule against cycles of fragments come before.
 */
export function repeatsRule(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition(operation) {
      const most = mostIn(collectFields([operation.selectionSet], context), context)
      if (most > operationLimits.repeats) context.reportError(tooManyRepeats(most, operation))
      return false
    },
    FragmentDefinition: () => false,
  }
}

function tooManyRepeats(count: number, operation: OperationDefinitionNode) {
  const message = `The operation selects one name ${count} times in one place; at most ${operationLimits.repeats} are allowed.`
  return faceError('GRAPHQL_VALIDATION_FAILED', message, { nodes: operation })
}

function mostIn(fields: Fields, context: ValidationContext): number {
  let most = 0
  for (const nodes of fields.values()) {
    const inner = nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
    most = Math.max(most, nodes.length, mostIn(collectFields(inner, context), context))
  }
  return most
}

/** The fields of one place by their names in the answer. A fragment that is spread twice there counts once. */
function collectFields(selections: readonly SelectionSetNode[], context: ValidationContext): Fields {
  const fields: Fields = new Map()
  const fragments = new Set<string>()
  for (const each of selections) collect(each)
  return fields

  function collect(set: SelectionSetNode): void {
    for (const selection of set.selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet)
      else if (selection.kind === Kind.FRAGMENT_SPREAD) collectFragment(selection.name.value)
      else {
        const name = (selection.alias ?? selection.name).value
        const nodes = fields.get(name)
        if (nodes) nodes.push(selection)
        else fields.set(name, [selection])
      }
    }
  }

  function collectFragment(name: string): void {
    if (fragments.has(name)) return
    fragments.add(name)
    const fragment = context.getFragment(name)
    if (fragment) collect(fragment.selectionSet)
  }
}
