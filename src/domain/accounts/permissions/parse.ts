import type { Issue } from '../../errors.ts'
import {
  comparisons,
  type Operation,
  operationCategories,
  operationParameters,
  type PermissionCategory,
  type Permissions,
  permissionCategories,
} from './permissions.ts'

/** A longer list of issues would not help the caller. */
const maxIssues = 50
/** Messages quote unknown names up to this length. */
const maxShownNameLength = 64

/** Parses permissions from a request and reports every issue, up to `maxIssues`. */
export function parsePermissions(input: unknown): { permissions: Permissions | null; issues: Issue[] } {
  if (input === null || input === undefined) return { permissions: null, issues: [] }
  const issues: Issue[] = []
  const addIssue = (path: string, message: string) => {
    if (issues.length < maxIssues) issues.push({ path, message })
  }
  const entries = (path: string, value: unknown): [string, unknown][] => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value)
    addIssue(path, 'must be an object.')
    return []
  }

  const top = entries('permissions', input)
  for (const [key] of top) {
    if (key !== 'api') addIssue('permissions', `has the unknown key "${shortenName(key)}"; only "api" is allowed.`)
  }
  // A caller who omits "api" may mean full access or none.
  if (issues.length === 0 && top.length === 0)
    addIssue('permissions', 'must have the key "api" with the categories; {"api": {}} allows nothing.')
  for (const [key, api] of top) if (key === 'api') checkCategories(api)
  // The checks above cover every part of Permissions. Callers ignore the value when there are issues.
  return { permissions: input as Permissions, issues }

  function checkCategories(api: unknown) {
    for (const [category, grant] of entries('permissions.api', api)) {
      const path = `permissions.api.${shortenName(category)}`
      const known = permissionCategories.find(name => name === category)
      if (known === undefined) {
        addIssue(path, `is not a category; use one of ${permissionCategories.join(', ')}.`)
        continue
      }
      for (const [operation, rule] of entries(path, grant)) {
        checkRule(`${path}.${shortenName(operation)}`, known, operation, rule)
      }
    }
  }

  function checkRule(path: string, category: PermissionCategory, name: string, rule: unknown) {
    const known = operationsOf(category)
    const operation = known.find(candidate => candidate === name)
    if (operation === undefined) {
      addIssue(path, `is not an operation of this category, which has ${known.join(', ') || 'none'}.`)
      return
    }
    for (const [key, constraints] of entries(path, rule)) {
      if (key !== 'constraints')
        addIssue(path, `has the unknown key "${shortenName(key)}"; only "constraints" is allowed.`)
      else
        for (const [parameter, constraint] of entries(`${path}.constraints`, constraints))
          checkConstraint(`${path}.constraints.${shortenName(parameter)}`, operation, parameter, constraint)
    }
  }

  function checkConstraint(path: string, operation: Operation, parameter: string, constraint: unknown) {
    const known = parametersOf(operation)
    const type = known.get(parameter)
    if (!type) {
      addIssue(path, `is not a parameter of this operation, which has ${[...known.keys()].join(', ') || 'none'}.`)
      return
    }
    const bounds = entries(path, constraint)
    if (bounds.length === 0) addIssue(path, `must have at least one of ${comparisons.join(', ')}.`)
    for (const [comparison, bound] of bounds) checkBound(path, type, comparison, bound)
  }

  function checkBound(path: string, type: string, comparison: string, bound: unknown) {
    if (!comparisons.some(known => known === comparison)) {
      addIssue(path, `has the unknown comparison "${shortenName(comparison)}"; use one of ${comparisons.join(', ')}.`)
    } else if (typeof bound !== type || (type === 'number' && !Number.isFinite(bound))) {
      addIssue(`${path}.${comparison}`, type === 'number' ? 'must be a finite number.' : 'must be true or false.')
    }
  }
}

function parametersOf(operation: Operation): Map<string, string> {
  return new Map(Object.entries((operationParameters as Partial<Record<Operation, object>>)[operation] ?? {}))
}

function operationsOf(category: PermissionCategory): Operation[] {
  // Operation is the union of this table's keys.
  return (Object.keys(operationCategories) as Operation[]).filter(name => operationCategories[name] === category)
}

function shortenName(name: string): string {
  return name.length > maxShownNameLength ? `${name.slice(0, maxShownNameLength)}…` : name
}
