// The errors of enums. GraphQL's own repeat what was sent, and know no values but those that are spelled alike.

import { type GraphQLEnumType, GraphQLError, Kind, type ValueNode } from 'graphql'
import { suggestNames } from '../../domain/nearest.ts'
import { maxListed, type Notation, printName } from './inputs.ts'
import { maxComparedLength } from './ways.ts'

/** What is meant by texts that are no values of an enum: the end of the message. */
export type Meanings = ReadonlyMap<string, string>

/** Replaces the errors of the enum by those that say which values there are. */
export function explainValues(type: GraphQLEnumType, meanings: Meanings = new Map()): void {
  const { name, parseValue, parseLiteral } = type
  const names = type.getValues().map(value => value.name)
  type.parseValue = (value, ...rest) => {
    if (typeof value !== 'string') throw noValue(name, names, 'json')
    if (!type.getValue(value)) throw unknownValue({ name, names, meanings }, value)
    return parseValue.call(type, value, ...rest)
  }
  type.parseLiteral = (node, ...rest) => {
    if (node.kind !== Kind.STRING && node.kind !== Kind.ENUM) throw noValue(name, names, 'document', node)
    if (!type.getValue(node.value)) throw unknownValue({ name, names, meanings }, node.value, node)
    if (node.kind === Kind.STRING) throw quotedValue(name, node)
    return parseLiteral.call(type, node, ...rest)
  }
}

/** Filters of numbers and texts take objects, so one may be in place of a value. */
function noValue(type: string, names: readonly string[], notation: Notation, node?: ValueNode): GraphQLError {
  const example = printName(names[0] ?? '', notation)
  const message = `The enum "${type}" takes a value by itself, such as ${example}.${listValues(names)}`
  return new GraphQLError(message, { nodes: node ?? null })
}

function quotedValue(type: string, node: ValueNode): GraphQLError {
  return new GraphQLError(`A value of the enum "${type}" must be written without quotes.`, { nodes: node })
}

/** Repeats only what is like a value of the enum: anything else may be a password in the wrong place. */
type Known = { name: string; names: readonly string[]; meanings: Meanings }

function unknownValue({ name, names, meanings }: Known, sent: string, node?: ValueNode): GraphQLError {
  const meant = meanings.get(sent) ?? (sent.length <= maxComparedLength ? suggestNames(sent, names) : '')
  const message = meant
    ? `"${sent}" is not a value of the enum "${name}".${meant}`
    : `Value does not exist in "${name}" enum.${listValues(names)}`
  return new GraphQLError(message, { nodes: node ?? null })
}

function listValues(names: readonly string[]): string {
  return names.length <= maxListed ? ` There are ${names.map(each => `"${each}"`).join(', ')}.` : ''
}
