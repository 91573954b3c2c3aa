// The errors of enums. GraphQL's own repeat what was sent, and know no values but those that are spelled alike.

import { type GraphQLEnumType, GraphQLError, Kind, type ValueNode } from 'graphql'
import { suggestNames } from '../../domain/nearest.ts'

/** The values of larger enums are left to the documentation. */
const maxListed = 12
/** Longer texts are like no value. */
const maxComparedLength = 60

/** Replaces the errors of the enum by those that say which values there are. */
export function explainValues(type: GraphQLEnumType): void {
  const { name, parseValue, parseLiteral } = type
  const names = type.getValues().map(value => value.name)
  type.parseValue = (value, ...rest) => {
    if (typeof value === 'string' && !type.getValue(value)) throw unknownValue(name, names, value)
    return parseValue.call(type, value, ...rest)
  }
  type.parseLiteral = (node, ...rest) => {
    if (node.kind === Kind.STRING && type.getValue(node.value)) throw quotedValue(name, node)
    if ((node.kind === Kind.STRING || node.kind === Kind.ENUM) && !type.getValue(node.value))
      throw unknownValue(name, names, node.value, node)
    return parseLiteral.call(type, node, ...rest)
  }
}

function quotedValue(type: string, node: ValueNode): GraphQLError {
  return new GraphQLError(`A value of the enum "${type}" must be written without quotes.`, { nodes: node })
}

/** Repeats only what is like a value of the enum: anything else may be a password in the wrong place. */
function unknownValue(type: string, names: readonly string[], sent: string, node?: ValueNode): GraphQLError {
  const meant = sent.length <= maxComparedLength ? suggestNames(sent, names) : ''
  const listed = names.length <= maxListed ? ` There are ${names.map(each => `"${each}"`).join(', ')}.` : ''
  const message = meant
    ? `"${sent}" is not a value of the enum "${type}".${meant}`
    : `Value does not exist in "${type}" enum.${listed}`
  return new GraphQLError(message, { nodes: node ?? null })
}
