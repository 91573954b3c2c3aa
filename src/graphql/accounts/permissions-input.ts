import { type Issue, invalidInput } from '../../domain/errors.ts'
import type { ApiPermissionInput, PermissionConstraintInput } from './permissions.ts'

type Row = typeof ApiPermissionInput.$inferInput
type ConstraintRow = typeof PermissionConstraintInput.$inferInput
/** What is wrong with the list itself, and where in it stands what is somewhere in the object. */
type Notes = { issues: Issue[]; paths: Map<string, string> }

/** The list as the object that it stands for, which is then read like any that somebody wrote. */
export function permissionsOf(rows: Row[]): { permissions: object; paths: Map<string, string> } {
  const notes: Notes = { issues: [], paths: new Map() }
  const api = new Map<string, Map<string, object>>()
  for (const [index, { category, operation, constraints }] of rows.entries()) {
    const at = `permissions.${index}`
    const grant = api.get(category)
    if (grant && (!operation || grant.size === 0 || grant.has(operation))) {
      notes.issues.push({ path: at, message: 'is about what another one is about already.' })
    } else if (operation) {
      const path = `permissions.api.${category}.${operation}`
      notes.paths.set(path, `${at}.operation`)
      const rule = ruleOf(constraints, at, path, notes)
      api.set(category, (grant ?? new Map<string, object>()).set(operation, rule))
    } else {
      api.set(category, new Map())
      if (constraints.length > 0)
        notes.issues.push({ path: `${at}.constraints`, message: 'are of one operation: name it.' })
    }
  }
  if (notes.issues.length > 0) throw invalidInput(notes.issues)
  const grants = [...api].map(([category, grant]) => [category, Object.fromEntries(grant)])
  return { permissions: { api: Object.fromEntries(grants) }, paths: notes.paths }
}

function ruleOf(rows: ConstraintRow[], at: string, path: string, { issues, paths }: Notes): object {
  const constraints = new Map<string, Map<string, unknown>>()
  for (const [index, { parameter, operator, value }] of rows.entries()) {
    const here = `${at}.constraints.${index}`
    const bounds = constraints.get(parameter) ?? new Map<string, unknown>()
    if (bounds.has(operator)) issues.push({ path: here, message: 'compares what another one compares already.' })
    paths.set(`${path}.constraints.${parameter}`, `${here}.parameter`)
    paths.set(`${path}.constraints.${parameter}.${operator}`, `${here}.value`)
    constraints.set(parameter, bounds.set(operator, Object.values(value)[0]))
  }
  if (constraints.size === 0) return {}
  return { constraints: Object.fromEntries([...constraints].map(([name, of]) => [name, Object.fromEntries(of)])) }
}
