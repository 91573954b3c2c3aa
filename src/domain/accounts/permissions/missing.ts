// A key is never wider than the one that makes it: whatever it may do with some parameters, that one may do with them.

import {
  type Constraint,
  type Constraints,
  constraintsOf,
  type Operation,
  type PermissionCategory,
  type Permissions,
} from './permissions.ts'

/** What somebody wants to pass on and has not got: everything, a category, an operation, or one with less constraint. */
type MissingPermission = { category: PermissionCategory | 'full access'; operation?: Operation; parameter?: string }

/**
 * What is wanted beyond what is granted. A whole category also grants the operations that it gets in time, so only the
 * whole category covers it, and full access only full access.
 */
export function missingPermissions(granted: Permissions | null, wanted: Permissions | null): MissingPermission[] {
  if (granted === null) return []
  if (wanted === null) return [{ category: 'full access' }]
  // readPermissions lets only known categories and operations through.
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

/** Reads on from "lacks". */
export function printMissingPermission({ category, operation, parameter }: MissingPermission): string {
  if (!operation) return category
  if (parameter === undefined) return `${category} for ${operation}`
  return `${category} for ${operation} without its constraint on ${parameter}`
}

function isWholeCategoryGranted({ api }: Permissions, category: PermissionCategory): boolean {
  const grant = api[category]
  return grant !== undefined && Object.keys(grant).length === 0
}

/** The parameters that are bounded, and wanted with no bound or a wider one. */
function widerParameters(bounds: Constraints, wanted: Constraints): string[] {
  const wider = Object.entries(bounds).filter(([name, bound]) => {
    const constraint = Object.hasOwn(wanted, name) ? wanted[name] : undefined
    return !constraint || !isNarrower(constraint, bound)
  })
  return wider.map(([name]) => name)
}

/** What cannot be compared is wider. */
function isNarrower({ eq, lte, gte }: Constraint, bounds: Constraint): boolean {
  if (bounds.eq !== undefined && eq !== bounds.eq) return false
  const { lte: most, gte: least } = bounds
  // Only bounds of one type are compared.
  const below = [eq, lte].some(
    bound => typeof bound === typeof most && bound !== undefined && bound <= (most as typeof bound),
  )
  const above = [eq, gte].some(
    bound => typeof bound === typeof least && bound !== undefined && bound >= (least as typeof bound),
  )
  return (most === undefined || below) && (least === undefined || above)
}
