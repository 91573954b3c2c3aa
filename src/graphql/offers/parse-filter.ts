import type { Issue } from '../../domain/errors.ts'
import type { Region } from '../../domain/machines/regions.ts'
import type { OfferField } from '../../domain/offers/fields.ts'
import {
  type Condition,
  checkFilter,
  emptyFieldMessage,
  type OfferFilter as Filter,
  inRegions,
  type Operator,
  parseCondition,
} from '../../domain/offers/filter.ts'
import { shareProblem } from '../../domain/offers/shares.ts'
import { tryParseId } from '../ids.ts'

export type Availability = 'available' | 'unavailable' | 'any'

export type FilterInput = {
  or?: FilterInput[] | null | undefined
  availability?: Availability | null | undefined
  region?: Region[] | null | undefined
} & { [Field in OfferField]?: unknown }

/** Parses the filter, or throws an error that lists every problem. `refused`: places of conditions that must have a value. */
export function parseOfferFilter(input: FilterInput, refused: readonly string[] = []): Filter {
  const issues: Issue[] = refused.map(path => ({ path, message: emptyFieldMessage }))
  const availability = input.availability ?? 'available'
  const filter = parseFilterLevel({ ...input, availability }, 'filter', issues)
  return checkFilter(filter, issues)
}

/** Parses a filter without alternatives. Its fields must have the names of offer fields. */
export function parseConditions(input: object): Condition[] {
  const issues: Issue[] = []
  return checkFilter(parseFilterLevel(input, 'filter', issues), issues).conditions
}

function parseFilterLevel({ or, availability, region, ...fields }: FilterInput, path: string, issues: Issue[]): Filter {
  const conditions: Condition[] =
    !availability || availability === 'any'
      ? []
      : [{ field: 'rentable', operator: 'eq', value: availability === 'available' }]
  if (region) conditions.push(inRegions(region))
  // The schema admits only fields of FilterInput, and each has its name in the domain.
  for (const [field, input] of Object.entries(fields) as [OfferField, unknown][]) {
    for (const { operator, operand, path: place } of comparisonsOf(input, `${path}.${field}`)) {
      const condition = parseComparison(field, operator, operand)
      if (typeof condition === 'string') issues.push({ path: place, message: `${condition}.` })
      else conditions.push(condition)
    }
  }
  if (or?.length === 0) issues.push({ path: `${path}.or`, message: 'must have at least one alternative.' })
  const anyOf = (or ?? []).map((alternative, index) => parseFilterLevel(alternative, `${path}.or.${index}`, issues))
  return { conditions, anyOf }
}

type RawComparison = { operator: Operator; operand: unknown; path: string }

/** The comparisons of one field. A plain value means `eq`, a list means `in`. */
function comparisonsOf(input: unknown, path: string): RawComparison[] {
  if (input === null || input === undefined) return []
  if (Array.isArray(input)) return [{ operator: 'in', operand: input, path }]
  if (typeof input !== 'object') return [{ operator: 'eq', operand: input, path }]
  // The cast is safe: the fields of the schema's filter inputs, such as `IntFilter`, are operators.
  return Object.entries(input)
    .filter(([, operand]) => operand !== null && operand !== undefined)
    .map(([operator, operand]) => ({ operator: operator as Operator, operand, path: `${path}.${operator}` }))
}

/** IDs are strings in GraphQL and numbers in the domain. Percentages are refused: a search that asks for shares wants others. */
function parseComparison(field: OfferField, operator: Operator, operand: unknown): Condition | string {
  if (field === 'machineId' || field === 'hostId') {
    const type = field === 'hostId' ? 'Host' : 'Machine'
    const ids = [operand].flat().map(id => tryParseId(type, String(id)))
    const problem = ids.find(id => typeof id === 'string')
    return problem ?? parseCondition(field, operator, Array.isArray(operand) ? ids.map(Number) : Number(ids[0]))
  }
  const problem = [operand].flat().flatMap(value => shareProblem(field, value) ?? [])
  return problem[0] ?? parseCondition(field, operator, operand)
}
