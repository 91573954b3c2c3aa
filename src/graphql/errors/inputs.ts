// What to write in place of an input that has another shape.

import {
  type GraphQLInputObjectType,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isRequiredInputField,
} from 'graphql'
import { askForOneOf } from '../../domain/nearest.ts'
import { type Member, waysMeantBy } from './ways.ts'

/** Where the client wrote the input: in the document, or as JSON in the variables. */
export type Notation = 'document' | 'json'

/** The names of larger types are left to the documentation. */
export const maxListed = 12
const maxLevels = 4

export function describeInput(type: GraphQLInputObjectType, notation: Notation): string {
  const names = Object.keys(type.getFields()).map(name => `"${name}"`)
  const fields = type.isOneOf ? 'exactly one of these fields' : 'these fields'
  const listed = names.length <= maxListed ? ` It takes ${fields}: ${names.join(', ')}.` : ''
  return `"${type.name}" is an object, such as ${exampleOf(type, notation)}.${listed}`
}

/** The end of a message; empty if neither the members nor the objects in them have something like the name. */
export function suggestInput(name: string, members: readonly Member[], notation: Notation): string {
  const ways = waysMeantBy(name, members)
  return askForOneOf(ways.map(way => (way.length === 1 ? `"${way[0].name}"` : printWay(way, notation))))
}

function printWay([member, ...inner]: readonly Member[], notation: Notation): string {
  if (!member) return ''
  const value = inner.length > 0 ? `{${printWay(inner, notation)}}` : exampleOf(member.type, notation)
  return printEntry(member.name, value, notation)
}

/** A value with what the type requires, or with its first field. */
function exampleOf(type: GraphQLType, notation: Notation, levels = maxLevels): string {
  const nullable = getNullableType(type)
  if (isListType(nullable)) return `[${exampleOf(nullable.ofType, notation, levels)}]`
  if (isInputObjectType(nullable)) return exampleOfObject(nullable, notation, levels)
  if (isEnumType(nullable)) return printName(nullable.getValues()[0]?.name ?? '', notation)
  return scalarExamples[getNamedType(nullable).name] ?? '"…"'
}

/** All other scalars are written as strings. */
const scalarExamples: Record<string, string> = { Int: '1', Float: '1', Boolean: 'true' }

function exampleOfObject(type: GraphQLInputObjectType, notation: Notation, levels: number): string {
  if (levels === 0) return '{…}'
  const fields = Object.values(type.getFields())
  const required = fields.filter(isRequiredInputField)
  const others = fields.filter(field => getNamedType(field.type) !== type)
  const shown = required.length > 0 ? required : others.slice(0, 1)
  const entries = shown.map(field => printEntry(field.name, exampleOf(field.type, notation, levels - 1), notation))
  return `{${entries.join(', ')}}`
}

function printEntry(name: string, value: string, notation: Notation): string {
  return `${printName(name, notation)}: ${value}`
}

export function printName(name: string, notation: Notation): string {
  return notation === 'json' ? `"${name}"` : name
}
