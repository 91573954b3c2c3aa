// Names in a filter that nothing has. The fields below have names from a set that is in the code or in the database.

import type { Issue } from '../errors.ts'
import { countriesLike } from '../machines/countries.ts'
import { gpuVendors, verifications } from '../machines/machines.ts'
import { countryCodes } from '../machines/regions.ts'
import { askForOneOf, nearestNames } from '../nearest.ts'
import { quoteValue } from '../values.ts'
import type { FieldValue } from './fields.ts'
import type { Condition, OfferFilter } from './filter.ts'

/** The fields whose names are in the database. */
export const storedFields = ['gpuName', 'city'] as const
export type StoredField = (typeof storedFields)[number]

/** Names by their lower case, in which filters have them. */
export type Names = ReadonlyMap<string, string>
export type StoredNames = { readonly [Field in StoredField]: Names }
type NamedField = StoredField | 'gpuVendor' | 'verification' | 'cpuArch' | 'country'

/** `path` is the condition's place in the input, and `written` the value as the caller wrote it. */
export type UnknownName = Pick<Condition, 'operator'> & {
  field: NamedField
  path: string
  value: string
  written: string
}

/** Longer texts are like no name, and comparing takes as long as they are. */
const maxComparedLength = 40
/** So few names are listed if the text is like none of them. */
const maxListed = 3

export const namesOf = (names: readonly string[]): Names => new Map(names.map(name => [name.toLowerCase(), name]))

const fixedNames = {
  gpuVendor: namesOf(gpuVendors),
  verification: namesOf(verifications),
  cpuArch: namesOf(['amd64', 'arm64']),
  country: namesOf(countryCodes),
}

const sentences: { readonly [Field in NamedField]: (value: string) => string } = {
  gpuName: value => `No GPU model is called ${value}.`,
  city: value => `No machine is in a city called ${value}.`,
  gpuVendor: value => `No GPU vendor is called ${value}.`,
  verification: value => `No verification status is called ${value}.`,
  cpuArch: value => `No CPU architecture is called ${value}.`,
  country: value => `No country has the code ${value}.`,
}

/** The names in the filter that nothing has, each once for an operator. */
export function unknownNames(filter: OfferFilter, stored: StoredNames): UnknownName[] {
  const vocabularies: { readonly [field: string]: Names } = { ...fixedNames, ...stored }
  const unknown = new Map<string, UnknownName>()
  for (const { condition, path } of placedConditions(filter, 'filter')) {
    const names = Object.hasOwn(vocabularies, condition.field) ? vocabularies[condition.field] : undefined
    if (!names) continue
    for (const [index, value] of valuesOf(condition).map(String).entries()) {
      const { operator, written } = condition
      const key = `${condition.field} ${operator} ${value}`
      if (unknown.has(key) || isKnown(names, operator, value)) continue
      // Safe: the field has a vocabulary.
      const field = condition.field as NamedField
      unknown.set(key, { field, operator, path, value, written: written?.[index] ?? value })
    }
  }
  return [...unknown.values()]
}

/** Says that nothing has the name, and what may have been meant. */
export function describeUnknownName({ field, value, written }: UnknownName, stored: StoredNames): string {
  const names = [...{ ...fixedNames, ...stored }[field].values()]
  const meant = value.length > maxComparedLength ? [] : meantBy(field, value, names)
  const isListed = meant.length === 0 && names.length > 0 && names.length <= maxListed
  const advice = isListed ? ` There are ${names.map(name => `"${name}"`).join(', ')}.` : askForOneOf(meant)
  return `${sentences[field](quoteValue(written))}${advice}`
}

/**
 * The unknown names that a stream is refused with: its reader would wait for ever. A machine can come to any city, and
 * `contains` and `startsWith` can wait for a GPU model that is new.
 */
export function unknownNameIssues(unknown: readonly UnknownName[], stored: StoredNames): Issue[] {
  return unknown
    .filter(({ field, operator }) => field !== 'city' && operator !== 'contains' && operator !== 'startsWith')
    .map(each => ({ path: each.path, message: describeUnknownName(each, stored) }))
}

function meantBy(field: NamedField, value: string, names: readonly string[]): string[] {
  return field === 'country' ? countriesLike(value) : nearestNames(value, names).map(name => `"${name}"`)
}

function isKnown(names: Names, operator: Condition['operator'], value: string): boolean {
  if (operator === 'contains') return [...names.keys()].some(name => name.includes(value))
  if (operator === 'startsWith') return [...names.keys()].some(name => name.startsWith(value))
  return names.has(value)
}

/** All conditions, each with its place in the input. */
export function placedConditions(
  { conditions, anyOf }: OfferFilter,
  path: string,
): { condition: Condition; path: string }[] {
  const own = conditions.map(condition => ({ condition, path: `${path}.${condition.field}.${condition.operator}` }))
  return [...own, ...anyOf.flatMap((each, index) => placedConditions(each, `${path}.or.${index}`))]
}

export function valuesOf(condition: Condition): FieldValue[] {
  return 'values' in condition ? condition.values : [condition.value]
}
