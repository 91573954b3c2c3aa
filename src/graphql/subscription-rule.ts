import { type ASTVisitor, GraphQLError, type SelectionNode, type ValidationContext } from 'graphql'

const conditionalDirectives = ['skip', 'include']

/** Refuses @skip and @include on a subscription's only field: GraphQL has no answer to a subscription without a field. */
export function subscriptionRule(context: ValidationContext): ASTVisitor {
  const spread = new Set<string>()

  function check(selection: SelectionNode): void {
    const condition = selection.directives?.find(({ name }) => conditionalDirectives.includes(name.value))
    if (condition) {
      const message = `The field of a subscription must not have the directive "@${condition.name.value}". Remove the directive.`
      context.reportError(new GraphQLError(message, { nodes: condition }))
    }
    const inside = selection.kind === 'FragmentSpread' ? fragmentOf(selection.name.value) : selection
    if (inside && inside.kind !== 'Field') inside.selectionSet.selections.forEach(check)
  }

  /** Returns each fragment once. Another rule refuses fragments that spread themselves. */
  function fragmentOf(name: string) {
    if (spread.has(name)) return undefined
    spread.add(name)
    return context.getFragment(name)
  }

  return {
    OperationDefinition({ operation, selectionSet }) {
      if (operation === 'subscription') selectionSet.selections.forEach(check)
    },
  }
}
