// The maximum size of an operation. Nested fragments can expand a few lines to millions of fields, so the size is measured
// before anything else reads the document.

import {
  type ASTVisitor,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql'
import { faceError } from '../errors/face-errors.ts'
import { introspectionRepeats } from './introspection.ts'

export const operationLimits = {
  tokens: 2_000,
  depth: 10,
  /** The depth of the standard introspection query. */
  introspectionDepth: 15,
  fields: 1_000,
  /** Selections of one name in one place. Validation compares each of them with each other one. */
  repeats: 20,
  aliases: 30,
  /** Limited because each item of a list repeats the alias. */
  aliasCharacters: 64,
  /** Uses of `__schema` in one operation. */
  schemas: 1,
  /** Schema fields that an operation can read, estimated with `introspectionRepeats`. The standard query counts 345,000. */
  schemaFields: 400_000,
  directives: 20,
  mutations: 5,
  errors: 5,
}

type OperationSize = {
  depth: number
  introspectionDepth: number
  fields: number
  rootFields: number
  aliases: number
  aliasCharacters: number
  directives: number
  schemas: number
  schemaFields: number
  /** The value of `schemaFields` if this selection is inside `__schema` or `__type`. */
  schemaReads: number
}
const emptySize: OperationSize = {
  ...{ depth: 0, introspectionDepth: 0, fields: 0, rootFields: 0, directives: 0 },
  ...{ aliases: 0, aliasCharacters: 0, schemas: 0, schemaFields: 0, schemaReads: 0 },
}

/** Refuses an operation that is too large. A fragment counts each time it is spread. */
export function limitsRule(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition(operation) {
      const size = measureOperation(operation, context)
      const refuse = (unit: string, size: number, limit: number) => {
        if (size <= limit) return
        const message = `The operation has ${size} ${unit}; at most ${limit} are allowed.`
        context.reportError(faceError('GRAPHQL_VALIDATION_FAILED', message, { nodes: operation }))
      }
      refuse('levels', size.depth, operationLimits.depth)
      refuse('levels of introspection', size.introspectionDepth, operationLimits.introspectionDepth)
      refuse('fields', size.fields, operationLimits.fields)
      refuse('aliases', size.aliases, operationLimits.aliases)
      refuse('characters in an alias', size.aliasCharacters, operationLimits.aliasCharacters)
      refuse('directives', size.directives, operationLimits.directives)
      refuse('__schema fields', size.schemas, operationLimits.schemas)
      refuse('fields of the schema', size.schemaFields, operationLimits.schemaFields)
      if (operation.operation === 'mutation') refuse('mutations', size.rootFields, operationLimits.mutations)
      return false
    },
  }
}

function measureOperation(operation: OperationDefinitionNode, context: ValidationContext): OperationSize {
  const measured = new Map<FragmentDefinitionNode, OperationSize>()
  const own = sizeOfSelections(operation.selectionSet)
  return { ...own, directives: own.directives + (operation.directives?.length ?? 0) }

  function sizeOfSelections({ selections }: SelectionSetNode): OperationSize {
    const sum = { ...emptySize }
    for (const selection of selections) {
      const size = sizeOfSelection(selection)
      sum.depth = Math.max(sum.depth, size.depth)
      sum.introspectionDepth = Math.max(sum.introspectionDepth, size.introspectionDepth)
      sum.fields += size.fields
      sum.rootFields += size.rootFields
      sum.aliases += size.aliases
      sum.aliasCharacters = Math.max(sum.aliasCharacters, size.aliasCharacters)
      sum.schemas += size.schemas
      sum.schemaFields += size.schemaFields
      sum.schemaReads += size.schemaReads
      sum.directives += size.directives + (selection.directives?.length ?? 0)
    }
    return sum
  }

  function sizeOfSelection(selection: SelectionSetNode['selections'][number]): OperationSize {
    if (selection.kind === Kind.INLINE_FRAGMENT) return sizeOfSelections(selection.selectionSet)
    if (selection.kind === Kind.FRAGMENT_SPREAD) return sizeOfFragment(context.getFragment(selection.name.value))
    return sizeOfField(selection)
  }

  function sizeOfField({ name: { value: name }, alias, selectionSet }: FieldNode): OperationSize {
    const inner = selectionSet ? sizeOfSelections(selectionSet) : emptySize
    const depth = inner.depth + 1
    // The standard introspection query is deeper than `depth` allows, so introspection has its own limit.
    const depths = name.startsWith('__')
      ? { depth: 0, introspectionDepth: Math.max(depth, inner.introspectionDepth) }
      : { depth, introspectionDepth: inner.introspectionDepth }
    const schemaReads = 1 + inner.schemaReads * (introspectionRepeats[name] ?? 1)
    const [schemas, schemaFields] =
      name === '__schema' ? [1, schemaReads] : name === '__type' ? [0, schemaReads] : [0, 0]
    return {
      ...depths,
      fields: inner.fields + 1,
      rootFields: 1,
      aliases: inner.aliases + (alias ? 1 : 0),
      aliasCharacters: Math.max(inner.aliasCharacters, alias?.value.length ?? 0),
      directives: inner.directives,
      schemas: inner.schemas + schemas,
      schemaFields: inner.schemaFields + schemaFields,
      schemaReads,
    }
  }

  /** Measures each fragment once. A fragment that spreads itself counts as empty inside itself; another rule refuses it. */
  function sizeOfFragment(fragment: FragmentDefinitionNode | null | undefined): OperationSize {
    if (!fragment) return emptySize
    const known = measured.get(fragment)
    if (known) return known
    measured.set(fragment, emptySize)
    const size = sizeOfSelections(fragment.selectionSet)
    measured.set(fragment, size)
    return size
  }
}
