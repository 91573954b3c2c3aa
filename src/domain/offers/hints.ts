// What a search may have meant: its filter names what does not exist, has a percentage for a share, or GB for MB. Such a
// search is no error, because GPU models and machines come and go.

import type { FieldValue, OfferField } from './fields.ts'
import type { Condition, OfferFilter } from './filter.ts'
import { describeUnknownName, placedConditions, type StoredNames, unknownNames, valuesOf } from './names.ts'
import { shareNouns, shareProblem } from './shares.ts'

/** More than a person reads. Each comparison of a name with all others takes a millisecond. */
export const maxHints = 3

/** What the filter may have meant, as sentences; empty if it names only what exists. */
export function hintsOf(filter: OfferFilter, stored: StoredNames): string[] {
  const unknown = unknownNames(filter, stored).slice(0, maxHints)
  const hints = [...valueHints(filter, shareHint), ...unknown.map(each => describeUnknownName(each, stored))]
  return [...new Set(hints)].slice(0, maxHints)
}

/** The fields of memory in MB, each with what compares GB. */
const fieldsInMb: { readonly [Field in OfferField]?: string } = {
  gpuRamMb: 'Use gpuRamGb to compare GB.',
  gpuTotalRamMb: 'Use gpuRamGb to compare the GB of one GPU.',
  cpuRamMb: 'Use cpuRamGb to compare GB.',
}
/** All memory is larger, so a smaller number is meant in GB. */
const leastMb = 1_024

/** About memory in MB that is surely meant in GB. REST has no fields in GB. */
export function memoryHints(filter: OfferFilter): string[] {
  return valueHints(filter, ({ field }, value) => {
    const advice = fieldsInMb[field]
    if (advice === undefined || typeof value !== 'number' || value <= 0 || value >= leastMb) return undefined
    return `${field} is in MB, and ${value} MB is less than any machine has. ${advice}`
  })
}

/** An upper limit of more than 1 holds for every share. */
function shareHint({ field, operator }: Condition, value: FieldValue): string | undefined {
  if (['lt', 'lte', 'neq', 'nin'].includes(operator)) return undefined
  const problem = shareProblem(field, value)
  return problem && `${shareNouns[field]} ${problem}.`
}

/** Hints about the values that the filter compares with, each once. */
function valueHints(
  filter: OfferFilter,
  hintAbout: (condition: Condition, value: FieldValue) => string | undefined,
): string[] {
  const hints = placedConditions(filter, '').flatMap(({ condition }) =>
    valuesOf(condition).map(value => hintAbout(condition, value)),
  )
  return [...new Set(hints)].filter(hint => hint !== undefined)
}
