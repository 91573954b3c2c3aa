// What a client expects of the values that it reads: a table of fields, each with its kind.

import { expect } from 'vitest'

const kinds = {
  integer: (value: unknown) => Number.isSafeInteger(value),
  number: (value: unknown) => typeof value === 'number',
  text: (value: unknown) => typeof value === 'string',
  /** A text that is not empty. */
  words: (value: unknown) => typeof value === 'string' && value.trim() !== '',
  digits: (value: unknown) => typeof value === 'string' && /^\d+$/.test(value),
  boolean: (value: unknown) => typeof value === 'boolean',
  null: (value: unknown) => value === null,
  list: (value: unknown) => Array.isArray(value),
  object: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  /** A key that may be missing. */
  nothing: (value: unknown) => value === undefined,
}
type Kind = keyof typeof kinds

/** `list of` is each entry of a list; a list of one shape is a list of those; an object is one with these fields. */
export type Shape = Kind | `${Kind} or ${Kind}` | `list of ${Kind}` | readonly [Shape] | { [field: string]: Shape }

/** Fails with every field that is not as the table has it. */
export function expectFields(value: unknown, shape: Shape): void {
  expect(wrongIn(value, shape, '')).toEqual([])
}

export function wrongIn(value: unknown, shape: Shape, path: string): string[] {
  if (typeof shape !== 'string') {
    if (isList(shape)) {
      if (!Array.isArray(value)) return [complaint(path, 'list', value)]
      return value.flatMap((entry, index) => wrongIn(entry, shape[0], `${path}[${index}]`))
    }
    if (!kinds.object(value)) return [complaint(path, 'object', value)]
    const fields = value as Record<string, unknown>
    return Object.entries(shape).flatMap(([name, inner]) =>
      wrongIn(fields[name], inner, path ? `${path}.${name}` : name),
    )
  }
  const [, kind] = /^list of (\w+)$/.exec(shape) ?? []
  if (kind) return wrongIn(value, [kind as Kind], path)
  const allowed = shape.split(' or ') as Kind[]
  return allowed.some(name => kinds[name](value)) ? [] : [complaint(path, shape, value)]
}

function isList(shape: readonly [Shape] | { [field: string]: Shape }): shape is readonly [Shape] {
  return Array.isArray(shape)
}

function complaint(path: string, wanted: string, value: unknown): string {
  return `${path || 'the value'} is ${JSON.stringify(value)}, not ${wanted}`
}
