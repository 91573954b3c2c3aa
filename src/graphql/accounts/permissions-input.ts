import { type Operation, operationCategories } from '../../domain/accounts/permissions/permissions.ts'
import type { Issue } from '../../domain/errors.ts'
import { idPrefixes } from '../../domain/ids.ts'
import { tryParseId } from '../ids.ts'
import { parameterIdType } from './operation-names.ts'
import type { ApiPermissionInput, ConstraintValueInput, PermissionConstraintInput } from './permissions.ts'

type PermissionRow = typeof ApiPermissionInput.$inferInput
type ConstraintRow = typeof PermissionConstraintInput.$inferInput
/** Issues of the list itself, and for each path in the parsed object the matching path in the list. */
type ParseProgress = { issues: Issue[]; paths: Map<string, string> }

/** Converts the list to the object that REST accepts; the domain then checks both alike. `issues` are those of the list. */
export function parsePermissionRows(rows: PermissionRow[]): { permissions: object } & ParseProgress {
  const progress: ParseProgress = { issues: [], paths: new Map() }
  const api = new Map<string, Map<string, object>>()
  for (const [index, row] of rows.entries()) {
    const at = `permissions.${index}`
    const { operation } = row.operation ?? {}
    const category = operation ? operationCategories[operation] : (row.category as string)
    const grant = api.get(category)
    if (grant && (!operation || grant.size === 0 || grant.has(operation))) {
      progress.issues.push({ path: at, message: 'grants what another permission in the list grants already.' })
    } else if (row.operation && operation) {
      const rule = parseConstraintRows(operation, row.operation.constraints, `${at}.operation.constraints`, progress)
      api.set(category, (grant ?? new Map<string, object>()).set(operation, rule))
    } else {
      api.set(category, new Map())
    }
  }
  const grants = [...api].map(([category, grant]) => [category, Object.fromEntries(grant)])
  return { permissions: { api: Object.fromEntries(grants) }, ...progress }
}

function parseConstraintRows(
  operation: Operation,
  rows: ConstraintRow[],
  at: string,
  { issues, paths }: ParseProgress,
): object {
  const path = `permissions.api.${operationCategories[operation]}.${operation}.constraints`
  const constraints = new Map<string, Map<string, unknown>>()
  for (const [index, { parameter, operator, value }] of rows.entries()) {
    const here = `${at}.${index}`
    const bounds = constraints.get(parameter) ?? new Map<string, unknown>()
    if (bounds.has(operator))
      issues.push({ path: here, message: 'repeats the parameter and operator of another constraint.' })
    paths.set(`${path}.${parameter}`, `${here}.parameter`)
    paths.set(`${path}.${parameter}.${operator}`, `${here}.value`)
    const bound = parseBound(operation, parameter, value)
    if (bound.problem !== undefined) issues.push({ path: `${here}.value`, message: bound.problem })
    constraints.set(parameter, bounds.set(operator, bound.value))
  }
  if (constraints.size === 0) return {}
  return { constraints: Object.fromEntries([...constraints].map(([name, of]) => [name, Object.fromEntries(of)])) }
}

/** The value as the domain compares it: the integer of an id. The domain checks the types of all others. */
function parseBound(
  operation: Operation,
  parameter: string,
  given: typeof ConstraintValueInput.$inferInput,
): { value?: unknown; problem?: string } {
  const type = parameterIdType(operation, parameter)
  if (!type) return { value: Object.values(given)[0] }
  if (typeof given.id !== 'string') return { problem: `must be an id, such as {id: "${idPrefixes[type]}_42"}.` }
  const id = tryParseId(type, given.id)
  if (typeof id === 'string') return { problem: `${id}.` }
  return Number.isSafeInteger(Number(id)) ? { value: Number(id) } : { problem: 'is larger than any id.' }
}
