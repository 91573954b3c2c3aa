// Resolves fields, and completes their values to what the answer has.

import {
  defaultFieldResolver,
  defaultTypeResolver,
  type GraphQLAbstractType,
  GraphQLError,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  isObjectType,
  type ResponsePath,
} from 'graphql'
import { maxPageSize } from '../../domain/pages.ts'
import { beginTurn, type Turn } from '../../turns/in-turns.ts'
import { type Fail, failField, failItem } from './failures.ts'
import { argumentsOf, type Field, fieldsInside, infoOf } from './fields.ts'
import { awaitInPlace, ignoreErrors, isPromise, rethrowWhenDone } from './promises.ts'
import type { Shape } from './shape.ts'

export type Answer = Record<string, unknown>

/** Its prototype is empty, so that `__proto__` is an alias like any other. V8 fills it faster than `Object.create(null)`. */
const AnswerObject = function AnswerObject() {} as unknown as new () => Answer
AnswerObject.prototype = Object.freeze(Object.create(null))

export function executeFields(
  fields: readonly Field[],
  source: unknown,
  path: ResponsePath | undefined,
): Answer | Promise<Answer> {
  const answer = new AnswerObject()
  const pending: Promise<void>[] = []
  try {
    for (const field of fields) {
      const value = executeField(field, source, {
        prev: path,
        key: field.name,
        typename: field.parentType.name,
      })
      // A promise keeps the place of its value in the order of the fields.
      answer[field.name] = value
      if (isPromise(value)) pending.push(awaitInPlace(answer, field.name, value))
    }
  } catch (error) {
    if (pending.length === 0) throw error
    return rethrowWhenDone(whenAllDone(pending, answer), error)
  }
  return pending.length === 0 ? answer : whenAllDone(pending, answer)
}

function whenAllDone(pending: readonly Promise<void>[], answer: Answer): Promise<Answer> {
  const [first] = pending
  return (first && pending.length === 1 ? first : Promise.all(pending)).then(() => answer)
}

function executeField(field: Field, source: unknown, path: ResponsePath): unknown {
  try {
    const { definition, shape, execution } = field
    const { resolve = defaultFieldResolver } = definition
    const info = infoOf(field, path)
    const value = resolve(source, argumentsOf(field), execution.context, info)
    const completed = isPromise(value)
      ? completeLater(field, info, path, shape, value)
      : completeValue(field, info, path, shape, value)
    return isPromise(completed) ? catchLater(completed, failField, field, path, shape) : completed
  } catch (error) {
    return failField(field, path, field.shape, error)
  }
}

// Apart from the functions for values that are no promises, which need no closures.

function completeLater(
  field: Field,
  info: GraphQLResolveInfo,
  path: ResponsePath,
  shape: Shape,
  value: Promise<unknown>,
): Promise<unknown> {
  return value.then(resolved => {
    const { turn } = field.execution
    const complete = () => completeValue(field, info, path, shape, resolved)
    return turn?.isOver() ? turn.next().then(complete) : complete()
  })
}

function catchLater(
  value: Promise<unknown>,
  fail: Fail,
  field: Field,
  path: ResponsePath,
  shape: Shape,
): Promise<unknown> {
  return value.then(undefined, error => fail(field, path, shape, error))
}

function completeValue(
  field: Field,
  info: GraphQLResolveInfo,
  path: ResponsePath,
  shape: Shape,
  value: unknown,
): unknown {
  if (value instanceof Error) throw value
  if (value === null || value === undefined) {
    if (shape.isNonNull) throw new Error(`Cannot return null for non-nullable field ${nameOf(field)}.`)
    return null
  }
  switch (shape.kind) {
    case 'leaf':
      return serialize(shape.type, value)
    case 'list':
      return completeList(field, info, path, shape.item, value)
    case 'object':
      return completeObject(field, info, path, shape.type, value)
    case 'abstract':
      return completeAbstract(field, info, path, shape.type, value)
  }
}

function completeAbstract(
  field: Field,
  info: GraphQLResolveInfo,
  path: ResponsePath,
  type: GraphQLAbstractType,
  value: unknown,
): unknown {
  const complete = (name: string | undefined) =>
    completeObject(field, info, path, objectTypeOf(field, type, name), value)
  const name = (type.resolveType ?? defaultTypeResolver)(value, field.execution.context, info, type)
  return isPromise(name) ? name.then(complete) : complete(name)
}

function nameOf({ parentType, definition }: Field): string {
  return `${parentType.name}.${definition.name}`
}

/** A value that the type does not have is a mistake of the gateway. Clients see GraphQL's errors, and no others. */
function serialize(type: GraphQLLeafType, value: unknown): unknown {
  let serialized: unknown
  try {
    serialized = type.serialize(value)
  } catch (error) {
    throw error instanceof GraphQLError ? new Error(error.message) : error
  }
  if (serialized === null || serialized === undefined) throw new Error(`${type.name} serializes a value as null.`)
  return serialized
}

function completeList(
  field: Field,
  info: GraphQLResolveInfo,
  path: ResponsePath,
  shape: Shape,
  values: unknown,
): unknown[] | Promise<unknown[]> {
  if (!isIterable(values)) throw new Error(`Expected Iterable, but did not find one for field "${nameOf(field)}".`)
  const items: unknown[] = []
  let isPending = false
  try {
    const turn = turnOf(field, values)
    for (const value of values) {
      const itemPath = { prev: path, key: items.length, typename: undefined }
      const item = turn?.isOver()
        ? turn.next().then(() => completeItem(field, info, itemPath, shape, value))
        : completeItem(field, info, itemPath, shape, value)
      isPending ||= isPromise(item)
      items.push(item)
    }
  } catch (error) {
    if (isPending) ignoreErrors(items)
    if (Array.isArray(values)) ignoreErrors(values)
    throw error
  }
  return isPending ? Promise.all(items) : items
}

/** Pages are executed at once. */
function turnOf({ execution }: Field, values: Iterable<unknown>): Turn | undefined {
  if (Array.isArray(values) && values.length > maxPageSize) execution.turn ??= beginTurn()
  return execution.turn
}

function completeItem(
  field: Field,
  info: GraphQLResolveInfo,
  path: ResponsePath,
  shape: Shape,
  value: unknown,
): unknown {
  try {
    const completed = isPromise(value)
      ? completeLater(field, info, path, shape, value)
      : completeValue(field, info, path, shape, value)
    return isPromise(completed) ? catchLater(completed, failItem, field, path, shape) : completed
  } catch (error) {
    return failItem(field, path, shape, error)
  }
}

function objectTypeOf(field: Field, abstract: GraphQLAbstractType, name: string | undefined): GraphQLObjectType {
  const { schema } = field.execution
  const type = schema.getType(name ?? '')
  if (!isObjectType(type) || !schema.isSubType(abstract, type))
    throw new Error(`${abstract.name} has no type "${name}", to which field "${nameOf(field)}" resolves.`)
  return type
}

function completeObject(
  field: Field,
  info: GraphQLResolveInfo,
  path: ResponsePath,
  type: GraphQLObjectType,
  value: unknown,
): unknown {
  const isOfType = type.isTypeOf?.(value, field.execution.context, info) ?? true
  return isPromise(isOfType)
    ? isOfType.then(resolved => executeObject(field, path, type, value, resolved))
    : executeObject(field, path, type, value, isOfType)
}

function executeObject(
  field: Field,
  path: ResponsePath,
  type: GraphQLObjectType,
  value: unknown,
  isOfType: boolean,
): Answer | Promise<Answer> {
  if (!isOfType) throw new Error(`Expected a value of type "${type.name}" for field "${nameOf(field)}".`)
  return executeFields(fieldsInside(field, type), value, path)
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}
