// Adds up what an operation costs, before it runs. A fragment counts each time it is spread: `limitsRule` has refused
// operations with too many fields.

import {
  type ExecutionArgs,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  getArgumentValues,
  getNamedType,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import { complexityOf, type FieldCost } from './field-cost.ts'
import { introspectionCost } from './introspection.ts'

/** The costs of operations that cost the same whatever their variables. */
const fixedCosts = new WeakMap<OperationDefinitionNode, number>()

/** The largest number of fields that the operation can answer. Undefined if it cannot run: its execution says why. */
export function operationCost({ schema, document, operationName, variableValues }: ExecutionArgs): number | undefined {
  const operation = getOperationAST(document, operationName)
  const root = operation && schema.getRootType(operation.operation)
  if (!root) return undefined
  const definitions = operation.variableDefinitions ?? []
  const { coerced: variables } = getVariableValues(schema, definitions, variableValues ?? {}, { maxErrors: 1 })
  if (!variables) return undefined
  const known = fixedCosts.get(operation)
  if (known !== undefined) return known
  let isFixed = true
  const fragments = new Map(
    document.definitions.flatMap(each => (each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each]] : [])),
  )
  const total = costOfSelections(operation.selectionSet, root, {})
  if (isFixed) fixedCosts.set(operation, total)
  return total

  /** `around`: the cost of the field that has the selections. */
  function costOfSelections({ selections }: SelectionSetNode, type: GraphQLNamedType, around: FieldCost): number {
    let sum = 0
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        sum += costOfField(selection, type, around)
        continue
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection
      const condition = fragment?.typeCondition && schema.getType(fragment.typeCondition.name.value)
      if (fragment) sum += costOfSelections(fragment.selectionSet, condition ?? type, around)
    }
    return sum
  }

  function costOfField(node: FieldNode, type: GraphQLNamedType, around: FieldCost): number {
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined
    if (!field) return introspectionCost(node, fragments)
    const cost = around.inside?.[field.name] ?? declaredCost(field, node)
    const { field: own = 1, multiplier = isListType(getNullableType(field.type)) ? defaultListLength : 1 } = cost
    return node.selectionSet
      ? own + multiplier * costOfSelections(node.selectionSet, getNamedType(field.type), cost)
      : own
  }

  /** A field with invalid arguments is answered with null. */
  function declaredCost(field: GraphQLField<unknown, unknown>, node: FieldNode): FieldCost {
    const complexity = complexityOf(field)
    if (typeof complexity !== 'function') return complexity
    isFixed &&= !node.arguments?.some(({ value }) => hasVariable(value))
    try {
      return complexity(getArgumentValues(field, node, variables))
    } catch (error) {
      if (error instanceof GraphQLError) return { multiplier: 0 }
      throw error
    }
  }
}

/** Items in a list that declares no number. */
const defaultListLength = 10

function hasVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(hasVariable)
  if (value.kind === Kind.OBJECT) return value.fields.some(field => hasVariable(field.value))
  return value.kind === Kind.VARIABLE
}
