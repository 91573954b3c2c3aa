import { type Issue, invalidInput } from '../../domain/errors.ts'
import type { ApiPermissionInput, PermissionConstraintInput } from './permissions.ts'

type PermissionRow = typeof ApiPermissionInput.$inferInput
type ConstraintRow = typeof PermissionConstraintInput.$inferInput
/** Issues of the list itself, and for each path in the parsed object the matching path in the list. */
type ParseProgress = { issues: Issue[]; paths: Map<string, string> }

/** Converts the list to the object that REST accepts; the domain then checks both alike. */
export function parsePermissionRows(rows: PermissionRow[]): { permissions: object; paths: Map<string, string> } {
  const progress: ParseProgress = { issues: [], paths: new Map() }
  const api = new Map<string, Map<string, object>>()
  for (const [index, { category, operation, constraints }] of rows.entries()) {
    const at = `permissions.${index}`
    const grant = api.get(category)
    if (grant && (!operation || grant.size === 0 || grant.has(operation))) {
      progress.issues.push({ path: at, message: 'grants what another permission in the list grants already.' })
    } else if (operation) {
      const path = `permissions.api.${category}.${operation}`
      progress.paths.set(path, `${at}.operation`)
      const rule = parseConstraintRows(constraints, at, path, progress)
      api.set(category, (grant ?? new Map<string, object>()).set(operation, rule))
    } else {
      api.set(category, new Map())
      if (constraints.length > 0)
        progress.issues.push({
          path: `${at}.constraints`,
          message: 'must be empty without an operation: constraints apply to one operation.',
        })
    }
  }
  if (progress.issues.length > 0) throw invalidInput(progress.issues)
  const grants = [...api].map(([category, grant]) => [category, Object.fromEntries(grant)])
  return { permissions: { api: Object.fromEntries(grants) }, paths: progress.paths }
}

function parseConstraintRows(
  rows: ConstraintRow[],
  at: string,
  path: string,
  { issues, paths }: ParseProgress,
): object {
  const constraints = new Map<string, Map<string, unknown>>()
  for (const [index, { parameter, operator, value }] of rows.entries()) {
    const here = `${at}.constraints.${index}`
    const bounds = constraints.get(parameter) ?? new Map<string, unknown>()
    if (bounds.has(operator))
      issues.push({ path: here, message: 'repeats the parameter and operator of another constraint.' })
    paths.set(`${path}.constraints.${parameter}`, `${here}.parameter`)
    paths.set(`${path}.constraints.${parameter}.${operator}`, `${here}.value`)
    constraints.set(parameter, bounds.set(operator, Object.values(value)[0]))
  }
  if (constraints.size === 0) return {}
  return { constraints: Object.fromEntries([...constraints].map(([name, of]) => [name, Object.fromEntries(of)])) }
}
