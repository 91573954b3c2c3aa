// A key never gets permissions that the key creating it lacks.

import {
  type Constraint,
  type Constraints,
  constraintsOf,
  type Operation,
  type PermissionCategory,
  type Permissions,
  type UnmetConstraint,
} from './permissions.ts'

/** A permission that is not granted: full access, a category, an operation, or an operation without a constraint. */
export type MissingPermission = {
  category: PermissionCategory | 'full access'
  operation?: Operation
  parameter?: string
  /** The constraints that a request does not meet, of a permission that the key has. */
  unmet?: readonly UnmetConstraint[]
}

/** What the key was refused: a request, one that its constraints exclude, a grant to another key, or events. */
export type RefusedUse = 'request' | 'constrained request' | 'grant' | 'events'

/**
 * The wanted permissions that the granted ones do not cover. A whole category includes operations added to it later, so
 * only the whole category covers it. Only full access covers full access.
 */
export function missingPermissions(granted: Permissions | null, wanted: Permissions | null): MissingPermission[] {
  if (granted === null) return []
  if (wanted === null) return [{ category: 'full access' }]
  // parsePermissions accepts only known categories and operations.
  return (Object.keys(wanted.api) as PermissionCategory[]).flatMap((category): MissingPermission[] => {
    const names = Object.keys(wanted.api[category] ?? {}) as Operation[]
    if (names.length === 0) return isWholeCategoryGranted(granted, category) ? [] : [{ category }]
    return names.flatMap((operation): MissingPermission[] => {
      const bounds = constraintsOf(granted, operation)
      if (!bounds) return [{ category, operation }]
      const wider = widerParameters(bounds, constraintsOf(wanted, operation) ?? {})
      return wider.map(parameter => ({ category, operation, parameter }))
    })
  })
}

/** Continues a sentence that ends in "lacks". */
export function printMissingPermission({ category, operation, parameter }: MissingPermission): string {
  if (!operation) return category
  if (parameter === undefined) return `${category} for ${operation}`
  return `${category} for ${operation} without its constraint on ${parameter}`
}

function isWholeCategoryGranted({ api }: Permissions, category: PermissionCategory): boolean {
  const grant = api[category]
  return grant !== undefined && Object.keys(grant).length === 0
}

/** The bounded parameters that `wanted` leaves unbounded or bounds less tightly. */
function widerParameters(bounds: Constraints, wanted: Constraints): string[] {
  const wider = Object.entries(bounds).filter(([name, bound]) => {
    const constraint = Object.hasOwn(wanted, name) ? wanted[name] : undefined
    return !constraint || !isNarrower(constraint, bound)
  })
  return wider.map(([name]) => name)
}

/** Bounds of different types cannot be compared and count as wider. */
function isNarrower({ eq, lte, gte }: Constraint, bounds: Constraint): boolean {
  if (bounds.eq !== undefined && eq !== bounds.eq) return false
  const { lte: most, gte: least } = bounds
  const below = [eq, lte].some(
    bound => typeof bound === typeof most && bound !== undefined && bound <= (most as typeof bound),
  )
  const above = [eq, gte].some(
    bound => typeof bound === typeof least && bound !== undefined && bound >= (least as typeof bound),
  )
  return (most === undefined || below) && (least === undefined || above)
}
