// The fields that an operation selects of an object, found once for all objects of a type at one place of the operation.

import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  isAbstractType,
  Kind,
  type ResponsePath,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql'
import type { Turn } from '../../turns/in-turns.ts'
import { type Shape, shapeOf } from './shape.ts'

export type Execution = Pick<
  GraphQLResolveInfo,
  'schema' | 'fragments' | 'rootValue' | 'operation' | 'variableValues'
> & {
  context: unknown
  errors: GraphQLError[]
  /** Set once a long list is executed: in turns, as everything else from then on. */
  turn?: Turn
}

export type Field = {
  execution: Execution
  /** Its name in the answer. */
  name: string
  nodes: FieldNode[]
  parentType: GraphQLObjectType
  definition: GraphQLField<unknown, unknown>
  shape: Shape
  /** Its arguments, once they are known to be valid. */
  args: Readonly<Record<string, unknown>> | undefined
  /** The fields that it selects of its objects, by their types. */
  selections: Map<GraphQLObjectType, readonly Field[]>
}

export function rootFieldsOf(execution: Execution, type: GraphQLObjectType): readonly Field[] {
  return fieldsOf(execution, type, [execution.operation])
}

export function fieldsInside({ execution, nodes, selections }: Field, type: GraphQLObjectType): readonly Field[] {
  const known = selections.get(type)
  if (known) return known
  const fields = fieldsOf(execution, type, nodes)
  selections.set(type, fields)
  return fields
}

type Selecting = { selectionSet?: SelectionSetNode | undefined }

function fieldsOf(execution: Execution, parentType: GraphQLObjectType, nodes: readonly Selecting[]): Field[] {
  return [...nodesByName(execution, parentType, nodes)].flatMap(([name, nodes]) => {
    const definition = definitionOf(execution, parentType, nodes[0]?.name.value ?? '')
    if (!definition) return []
    const shape = shapeOf(definition.type)
    return [{ execution, name, nodes, parentType, definition, shape, args: undefined, selections: new Map() }]
  })
}

/** The nodes that select a field of the type, by its name in the answer. */
function nodesByName(
  { schema, fragments, variableValues }: Execution,
  type: GraphQLObjectType,
  nodes: readonly Selecting[],
): Map<string, FieldNode[]> {
  const found = new Map<string, FieldNode[]>()
  const spread = new Set<string>()
  nodes.forEach(collectFrom)
  return found

  function collectFrom({ selectionSet }: Selecting): void {
    for (const selection of selectionSet?.selections ?? []) {
      if (isIncluded(selection, variableValues)) collect(selection)
    }
  }

  function collect(selection: SelectionNode): void {
    if (selection.kind === Kind.FIELD) {
      const name = (selection.alias ?? selection.name).value
      const others = found.get(name)
      if (others) others.push(selection)
      else found.set(name, [selection])
      return
    }
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragmentOf(selection.name.value) : selection
    if (fragment && isOfType(fragment.typeCondition?.name.value)) collectFrom(fragment)
  }

  /** The fragment, the first time that it is spread. */
  function fragmentOf(name: string): FragmentDefinitionNode | undefined {
    if (spread.has(name)) return undefined
    spread.add(name)
    return fragments[name]
  }

  function isOfType(condition: string | undefined): boolean {
    if (condition === undefined || condition === type.name) return true
    const other = schema.getType(condition)
    return isAbstractType(other) && schema.isSubType(other, type)
  }
}

function isIncluded(node: SelectionNode, variables: Execution['variableValues']): boolean {
  if (!node.directives?.length) return true
  return (
    getDirectiveValues(GraphQLSkipDirective, node, variables)?.['if'] !== true &&
    getDirectiveValues(GraphQLIncludeDirective, node, variables)?.['if'] !== false
  )
}

function definitionOf({ schema }: Execution, type: GraphQLObjectType, name: string) {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef
  const introspection = [SchemaMetaFieldDef, TypeMetaFieldDef].find(each => each.name === name)
  return introspection && type === schema.getQueryType() ? introspection : type.getFields()[name]
}

/** The arguments of the field, the same for all objects. Throws each time if they are invalid. */
export function argumentsOf(field: Field): Readonly<Record<string, unknown>> {
  const { definition, nodes, execution } = field
  field.args ??= Object.freeze(getArgumentValues(definition, nodes[0] as FieldNode, execution.variableValues))
  return field.args
}

export function infoOf(field: Field, path: ResponsePath): GraphQLResolveInfo {
  const { execution } = field
  return {
    fieldName: field.definition.name,
    fieldNodes: field.nodes,
    returnType: field.definition.type,
    parentType: field.parentType,
    path,
    schema: execution.schema,
    fragments: execution.fragments,
    rootValue: execution.rootValue,
    operation: execution.operation,
    variableValues: execution.variableValues,
  }
}
