import type { Issue } from './errors.ts'

export const permissionCategories = [
  'misc',
  'user_read',
  'user_write',
  'instance_read',
  'instance_write',
  'billing_read',
  'billing_write',
  'machine_read',
  'machine_write',
  'team_read',
  'team_write',
] as const
export type PermissionCategory = (typeof permissionCategories)[number]

/** Every operation that a key can be asked for, named after its service function, and the category that it needs. */
export const operations = {
  'offers.search': 'misc',
  'offers.get': 'misc',
  'gpuModels.list': 'misc',
  'machines.get': 'misc',
  'accounts.viewer': 'user_read',
  'apiKeys.list': 'user_read',
  'apiKeys.create': 'user_write',
  'apiKeys.reset': 'user_write',
  'apiKeys.revoke': 'user_write',
  'sshKeys.list': 'user_read',
  'sshKeys.register': 'user_write',
  'sshKeys.delete': 'user_write',
  'templates.list': 'user_read',
  'templates.get': 'user_read',
  'templates.save': 'user_write',
  'templates.delete': 'user_write',
  'instances.list': 'instance_read',
  'instances.get': 'instance_read',
  'instances.quote': 'instance_read',
  'instances.rent': 'instance_write',
  'instances.update': 'instance_write',
  'instances.changeBid': 'instance_write',
  'instances.attachSshKey': 'instance_write',
  'instances.detachSshKey': 'instance_write',
  'instances.destroy': 'instance_write',
  'volumes.search': 'misc',
  'volumes.list': 'instance_read',
  'volumes.get': 'instance_read',
  'volumes.create': 'instance_write',
  'volumes.delete': 'instance_write',
} as const satisfies Record<string, PermissionCategory>
export type Operation = keyof typeof operations

const comparisons = ['eq', 'lte', 'gte'] as const
type Bound = string | number | boolean
type Constraint = Partial<Record<(typeof comparisons)[number], Bound>>
type Grant = Partial<Record<Operation, { constraints?: Record<string, Constraint> }>>

/** What a key may do. A category that maps to {} is granted whole; otherwise only the operations that it lists are. */
export type Permissions = { api: Partial<Record<PermissionCategory, Grant>> }

/** True when a key with these permissions may do this; null permissions are full access. */
export function isAllowed(
  permissions: Permissions | null,
  operation: Operation,
  parameters: Record<string, unknown> = {},
): boolean {
  const constraints = constraintsOf(permissions, operation)
  if (constraints === undefined) return false
  return Object.entries(constraints).every(([name, constraint]) => isWithin(parameters[name], constraint))
}

/** True when a key may do this with some parameters, whatever they are. */
export function isGranted(permissions: Permissions | null, operation: Operation): boolean {
  return constraintsOf(permissions, operation) !== undefined
}

/** What bounds a key that may do this; undefined for a key that may not. */
function constraintsOf(permissions: Permissions | null, operation: Operation): Record<string, Constraint> | undefined {
  if (permissions === null) return {}
  const grant = permissions.api[operations[operation]]
  if (grant === undefined) return undefined
  if (Object.keys(grant).length === 0) return {}
  const rule = grant[operation]
  return rule && (rule.constraints ?? {})
}

/** A parameter that the request leaves out is outside every constraint. */
function isWithin(value: unknown, constraint: Constraint): boolean {
  const { eq, lte, gte } = constraint
  if (eq !== undefined && value !== eq) return false
  if (lte !== undefined && !(typeof value === typeof lte && (value as Bound) <= lte)) return false
  if (gte !== undefined && !(typeof value === typeof gte && (value as Bound) >= gte)) return false
  return true
}

/** Reads permissions that somebody wrote by hand, and says everything that is wrong with them. */
export function readPermissions(input: unknown): { permissions: Permissions | null; issues: Issue[] } {
  if (input === null || input === undefined) return { permissions: null, issues: [] }
  const issues: Issue[] = []
  const complain = (path: string, message: string) => void issues.push({ path, message })
  const entries = (path: string, value: unknown): [string, unknown][] => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value)
    complain(path, 'must be an object.')
    return []
  }

  const api = (input as { api?: unknown }).api
  for (const [key] of entries('permissions', input)) {
    if (key !== 'api') complain('permissions', `has the unknown key "${key}"; the only one is "api".`)
  }
  for (const [category, grant] of entries('permissions.api', api)) {
    const path = `permissions.api.${category}`
    if (!permissionCategories.some(known => known === category)) {
      complain(path, `unknown category; there are ${permissionCategories.join(', ')}.`)
      continue
    }
    for (const [operation, rule] of entries(path, grant)) readRule(`${path}.${operation}`, category, operation, rule)
  }
  return { permissions: input as Permissions, issues }

  function readRule(path: string, category: string, operation: string, rule: unknown) {
    if (operations[operation as Operation] !== category) {
      const known = Object.keys(operations).filter(name => operations[name as Operation] === category)
      complain(path, `unknown operation; this category has ${known.join(', ') || 'none'}.`)
      return
    }
    for (const [key, constraints] of entries(path, rule)) {
      if (key !== 'constraints') complain(path, `has the unknown key "${key}"; the only one is "constraints".`)
      else
        for (const [parameter, constraint] of entries(`${path}.constraints`, constraints))
          readConstraint(`${path}.constraints.${parameter}`, constraint)
    }
  }

  function readConstraint(path: string, constraint: unknown) {
    const bounds = entries(path, constraint)
    if (bounds.length === 0) complain(path, `must bound the parameter with ${comparisons.join(', ')}.`)
    for (const [comparison, bound] of bounds) {
      if (!comparisons.some(known => known === comparison)) {
        complain(path, `unknown comparison "${comparison}"; there are ${comparisons.join(', ')}.`)
      } else if (!['string', 'number', 'boolean'].includes(typeof bound)) {
        complain(`${path}.${comparison}`, 'must be a string, a number or a boolean.')
      }
    }
  }
}
