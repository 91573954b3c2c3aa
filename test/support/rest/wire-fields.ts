// Checks a value against the fields that a client reads, each with its kind.

import { expect } from 'vitest'

const kindChecks = {
  integer: (value: unknown) => Number.isSafeInteger(value),
  number: (value: unknown) => typeof value === 'number',
  text: (value: unknown) => typeof value === 'string',
  /** A string that is not empty. */
  words: (value: unknown) => typeof value === 'string' && value.trim() !== '',
  digits: (value: unknown) => typeof value === 'string' && /^\d+$/.test(value),
  boolean: (value: unknown) => typeof value === 'boolean',
  null: (value: unknown) => value === null,
  list: (value: unknown) => Array.isArray(value),
  object: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  /** A field that may be missing. */
  nothing: (value: unknown) => value === undefined,
}
type FieldKind = keyof typeof kindChecks

/** `list of` checks each entry, a list of one shape checks each entry's shape, and an object checks these fields. */
export type Shape =
  | FieldKind
  | `${FieldKind} or ${FieldKind}`
  | `list of ${FieldKind}`
  | readonly [Shape]
  | { [field: string]: Shape }

/** Fails and lists every field that does not match. */
export function expectFields(value: unknown, shape: Shape): void {
  expect(findMismatches(value, shape, '')).toEqual([])
}

export function findMismatches(value: unknown, shape: Shape, path: string): string[] {
  if (typeof shape !== 'string') {
    if (isList(shape)) {
      if (!Array.isArray(value)) return [describeMismatch(path, 'list', value)]
      return value.flatMap((entry, index) => findMismatches(entry, shape[0], `${path}[${index}]`))
    }
    if (!kindChecks.object(value)) return [describeMismatch(path, 'object', value)]
    const fields = value as Record<string, unknown>
    return Object.entries(shape).flatMap(([name, inner]) =>
      findMismatches(fields[name], inner, path ? `${path}.${name}` : name),
    )
  }
  const [, kind] = /^list of (\w+)$/.exec(shape) ?? []
  if (kind) return findMismatches(value, [kind as FieldKind], path)
  const allowed = shape.split(' or ') as FieldKind[]
  return allowed.some(name => kindChecks[name](value)) ? [] : [describeMismatch(path, shape, value)]
}

function isList(shape: readonly [Shape] | { [field: string]: Shape }): shape is readonly [Shape] {
  return Array.isArray(shape)
}

function describeMismatch(path: string, expected: string, value: unknown): string {
  return `${path || 'the value'} is ${JSON.stringify(value)}, not ${expected}`
}
