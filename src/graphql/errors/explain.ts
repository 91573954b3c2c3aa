// GraphQL's errors about the shape of a request name types, but not what these look like. Such an error has no more than its
// message, so this is read.

import { type GraphQLSchema, isCompositeType, isInputObjectType, isObjectType } from 'graphql'
import { describeInput, type Notation, suggestInput } from './inputs.ts'
import { selectResult, suggestSelection } from './selections.ts'
import { membersOf } from './ways.ts'

/** The message with what to write instead. A message about something else stays as it is. */
export function explain(message: string, schema: GraphQLSchema): string {
  const [, variable = '', problem = ''] = /^(Variable "\$\w+" got invalid value[^;]*; )?(.*)$/s.exec(message) ?? []
  const notation = variable ? 'json' : 'document'
  for (const [pattern, explainProblem] of explanations) {
    const [known, ...names] = pattern.exec(problem) ?? []
    const explained = known && explainProblem(schema, names, notation, known)
    if (explained) return variable + explained
  }
  return message
}

/** `known` is what stays of the message. GraphQL's own suggestions follow it. */
type Explain = (schema: GraphQLSchema, names: string[], notation: Notation, known: string) => string | undefined

const describe: Explain = (schema, [typeName = ''], notation) => {
  const type = schema.getType(typeName)
  return isInputObjectType(type) ? describeInput(type, notation) : undefined
}

const adviseField: Explain = (schema, [field = '', typeName = ''], _notation, known) => {
  const type = schema.getType(typeName)
  return isCompositeType(type) ? known + suggestSelection(schema, type, field) : undefined
}

const adviseSelection: Explain = (schema, [typeName = ''], _notation, known) => {
  const type = schema.getType(typeName)
  const advice = isCompositeType(type) && selectResult(type)
  return advice ? known + advice : undefined
}

const adviseArgument: Explain = (schema, [argument = '', typeName = '', field = ''], notation, known) => {
  const type = schema.getType(typeName)
  const args = isObjectType(type) ? type.getFields()[field]?.args : undefined
  return args && known + suggestInput(argument, args, notation)
}

const adviseInputField: Explain = (schema, [field = '', typeName = ''], notation, known) => {
  const type = schema.getType(typeName)
  return isInputObjectType(type) ? known + suggestInput(field, membersOf(type), notation) : undefined
}

const explanations: readonly [RegExp, Explain][] = [
  [/^Cannot query field "(\w+)" on type "(\w+)"\./, adviseField],
  [/^Field "\w+" of type "(\w+)!?" must have a selection of subfields\./, adviseSelection],
  [
    /^Fragment (?:"\w+" )?cannot be spread here as objects of type "(\w+)" can never be of type "\w+"\./,
    adviseSelection,
  ],
  [/^Unknown argument "(\w+)" on field "(\w+)\.(\w+)"\./, adviseArgument],
  [/^Field "(\w+)" is not defined by type "(\w+)"\./, adviseInputField],
  [/^Expected value of type "\[?(\w+)[!\]]*"\.$/, describe],
  [/^Expected type "(\w+)" to be an object\.$/, describe],
  [/^OneOf Input Object "(\w+)" must specify exactly one key\.$/, describe],
  [/^Exactly one key must be specified for OneOf type "(\w+)"\.$/, describe],
]
