// What a search that found nothing may have meant: its filter names what does not exist, or has a percentage for a share.
// Such a search is no error, because GPU models and machines come and go.

import { countriesLike } from '../machines/countries.ts'
import { gpuVendors, verifications } from '../machines/machines.ts'
import { countryCodes } from '../machines/regions.ts'
import { askForOneOf, nearestNames } from '../nearest.ts'
import { quoteValue } from '../values.ts'
import type { FieldValue, OfferField } from './fields.ts'
import type { Condition, OfferFilter } from './filter.ts'
import { shareNouns, shareProblem } from './shares.ts'

const maxHints = 3
/** Longer texts are like no name, and comparing takes as long as they are. */
const maxComparedLength = 40
/** So few names are listed if the text is like none of them. */
const maxListed = 3

/** The names that a field can have. `isUnknown` says of a value, after "No", that nothing has it. */
type Vocabulary = {
  names: readonly string[]
  isUnknown: (value: string) => string
  meantBy: (value: string) => string[]
}

function vocabularyOf(noun: string, names: readonly string[]): Vocabulary {
  const meantBy = (value: string) => nearestNames(value, names).map(name => `"${name}"`)
  return { names, isUnknown: value => `No ${noun} is called ${value}.`, meantBy }
}

const vocabularies: { readonly [Field in OfferField]?: Vocabulary } = {
  gpuVendor: vocabularyOf('GPU vendor', gpuVendors),
  verification: vocabularyOf('verification status', verifications),
  cpuArch: vocabularyOf('CPU architecture', ['amd64', 'arm64']),
  country: {
    names: countryCodes,
    isUnknown: value => `No country has the code ${value}.`,
    meantBy: countriesLike,
  },
}

/** Whether the hints depend on the names of the GPU models. */
export function namesGpuModels(filter: OfferFilter): boolean {
  return conditionsOf(filter).some(condition => condition.field === 'gpuName' && soughtValues(condition).length > 0)
}

/** What the filter may have meant, as sentences; empty if it names only what exists. */
export function hintsOf(filter: OfferFilter, gpuModels: readonly string[]): string[] {
  const hints = new Set<string>()
  const seen = new Set<string>()
  let unknown = 0
  const known = knownNames({ ...vocabularies, gpuName: vocabularyOf('GPU model', gpuModels) })
  for (const condition of conditionsOf(filter))
    for (const [index, value] of soughtValues(condition).entries()) {
      // A list can name the same a thousand times, and each comparison with all names takes a millisecond.
      const sought = `${condition.field} ${condition.operator} ${value}`
      if (seen.has(sought)) continue
      seen.add(sought)
      const hint = shareHint(condition.field, value) ?? known(condition, String(value), condition.written?.[index])
      if (hint === undefined) continue
      hints.add(hint)
      unknown += 1
      if (unknown === maxHints) return [...hints]
    }
  return [...hints]
}

function conditionsOf({ conditions, anyOf }: OfferFilter): Condition[] {
  return [...conditions, ...anyOf.flatMap(conditionsOf)]
}

/** The values of which an offer must have one, or at least as much. */
function soughtValues(condition: Condition): FieldValue[] {
  if ('values' in condition) return condition.operator === 'in' ? condition.values : []
  return ['eq', 'gt', 'gte', 'contains', 'startsWith'].includes(condition.operator) ? [condition.value] : []
}

function shareHint(field: OfferField, value: FieldValue): string | undefined {
  const problem = shareProblem(field, value)
  return problem && `${shareNouns[field]} ${problem}.`
}

/** Returns the hint about a value that no name of its field has. Texts of filters are in lower case: it quotes `written`. */
function knownNames(byField: typeof vocabularies) {
  const lowerCased = new Map<OfferField, Set<string>>()

  return ({ field, operator }: Condition, value: string, written = value): string | undefined => {
    const vocabulary = byField[field]
    if (!vocabulary) return undefined
    const names = lowerCased.get(field) ?? new Set(vocabulary.names.map(name => name.toLowerCase()))
    lowerCased.set(field, names)
    const isKnown =
      operator === 'contains' || operator === 'startsWith'
        ? [...names].some(name => (operator === 'contains' ? name.includes(value) : name.startsWith(value)))
        : names.has(value)
    return isKnown ? undefined : `${vocabulary.isUnknown(quoteValue(written))}${suggestFrom(vocabulary, value)}`
  }
}

function suggestFrom({ names, meantBy }: Vocabulary, value: string): string {
  const meant = value.length > maxComparedLength ? [] : meantBy(value)
  if (meant.length > 0 || names.length === 0 || names.length > maxListed) return askForOneOf(meant)
  return ` There are ${names.map(name => `"${name}"`).join(', ')}.`
}
