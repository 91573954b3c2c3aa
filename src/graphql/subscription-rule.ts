import { type ASTVisitor, GraphQLError, type SelectionNode, type ValidationContext } from 'graphql'

const conditionalDirectives = ['skip', 'include']

/** A subscription is its one field: whoever leaves that out has nothing to be told, and GraphQL no answer to it. */
export function subscriptionRule(context: ValidationContext): ASTVisitor {
  const spread = new Set<string>()

  function check(selection: SelectionNode): void {
    const condition = selection.directives?.find(({ name }) => conditionalDirectives.includes(name.value))
    if (condition) {
      const message = `The field of a subscription cannot be left out with "@${condition.name.value}".`
      context.reportError(new GraphQLError(message, { nodes: condition }))
    }
    const inside = selection.kind === 'FragmentSpread' ? fragmentOf(selection.name.value) : selection
    if (inside && inside.kind !== 'Field') inside.selectionSet.selections.forEach(check)
  }

  /** Each once: that fragments are in themselves is for another rule to say. */
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
