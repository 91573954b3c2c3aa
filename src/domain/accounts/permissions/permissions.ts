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

/**
 * Every operation that a permission can allow, with its category. Several service functions may need the same one: see
 * their call of `authorize`.
 */
export const operationCategories = {
  'offers.search': 'misc',
  'offers.get': 'misc',
  'offers.watch': 'misc',
  'gpuModels.list': 'misc',
  'machines.get': 'misc',
  'machines.hosted': 'machine_read',
  'accounts.viewer': 'user_read',
  'billing.spendLimits': 'billing_read',
  'billing.setSpendLimit': 'billing_write',
  'billing.deleteSpendLimit': 'billing_write',
  'apiKeys.list': 'user_read',
  'apiKeys.create': 'user_write',
  'apiKeys.update': 'user_write',
  'apiKeys.reset': 'user_write',
  'apiKeys.revoke': 'user_write',
  'sshKeys.list': 'user_read',
  'sshKeys.register': 'user_write',
  'sshKeys.replace': 'user_write',
  'sshKeys.delete': 'user_write',
  'secretVariables.list': 'user_read',
  'secretVariables.set': 'user_write',
  'secretVariables.delete': 'user_write',
  'templates.list': 'user_read',
  'templates.listOwn': 'instance_read',
  'templates.get': 'user_read',
  'templates.save': 'user_write',
  'templates.delete': 'user_write',
  'instances.list': 'instance_read',
  'instances.get': 'instance_read',
  'instances.watch': 'instance_read',
  'instances.events': 'instance_read',
  'instances.logs': 'instance_read',
  'instances.metrics': 'instance_read',
  'instances.quote': 'instance_read',
  'instances.rent': 'instance_write',
  'instances.update': 'instance_write',
  'instances.changeBid': 'instance_write',
  'instances.reboot': 'instance_write',
  'instances.recycle': 'instance_write',
  'instances.changeLaunch': 'instance_write',
  'instances.setPolicy': 'instance_write',
  'instances.attachSshKey': 'instance_write',
  'instances.detachSshKey': 'instance_write',
  'instances.execute': 'instance_write',
  'instances.destroy': 'instance_write',
  'volumes.search': 'misc',
  'volumes.list': 'instance_read',
  'volumes.get': 'instance_read',
  'volumes.create': 'instance_write',
  'volumes.update': 'instance_write',
  'volumes.delete': 'instance_write',
  'events.list': 'user_read',
  'events.watch': 'user_read',
  'billing.ledger': 'billing_read',
  'billing.usage': 'billing_read',
  'webhooks.list': 'user_read',
  'webhooks.create': 'user_write',
  'webhooks.update': 'user_write',
  'webhooks.test': 'user_write',
  'webhooks.rotate': 'user_write',
  'webhooks.delete': 'user_write',
} as const satisfies Record<string, PermissionCategory>
export type Operation = keyof typeof operationCategories

const idParameter = { id: 'number' } as const
/** The parameters that a constraint can bound. Operations that are not listed have none. */
export const operationParameters = {
  'billing.deleteSpendLimit': idParameter,
  'apiKeys.update': idParameter,
  'apiKeys.reset': idParameter,
  'apiKeys.revoke': idParameter,
  'sshKeys.replace': idParameter,
  'sshKeys.delete': idParameter,
  'templates.get': idParameter,
  'templates.save': idParameter,
  'templates.delete': idParameter,
  'instances.get': idParameter,
  'instances.watch': idParameter,
  'instances.events': idParameter,
  'instances.logs': idParameter,
  'instances.metrics': idParameter,
  'instances.quote': { offerId: 'number' },
  'instances.rent': { offerId: 'number' },
  /** `relabels`: whether the request changes the label. `starts`: whether it starts instances. REST can do both at once. */
  'instances.update': { id: 'number', relabels: 'boolean', starts: 'boolean' },
  'instances.changeBid': idParameter,
  'instances.reboot': idParameter,
  'instances.recycle': idParameter,
  'instances.changeLaunch': idParameter,
  'instances.setPolicy': idParameter,
  'instances.attachSshKey': idParameter,
  'instances.detachSshKey': idParameter,
  'instances.execute': idParameter,
  'instances.destroy': idParameter,
  'volumes.get': idParameter,
  'volumes.create': { machineId: 'number', sizeGb: 'number' },
  'volumes.update': idParameter,
  'volumes.delete': idParameter,
  'webhooks.update': idParameter,
  'webhooks.test': idParameter,
  'webhooks.rotate': idParameter,
  'webhooks.delete': idParameter,
} as const satisfies Partial<Record<Operation, Record<string, 'number' | 'boolean'>>>

type OperationParameters = typeof operationParameters
type ValueTypes = { number: number; boolean: boolean }
/** A value for each parameter; undefined when the request omits it. */
export type ParametersOf<Name extends Operation> = Name extends keyof OperationParameters
  ? {
      [Parameter in keyof OperationParameters[Name]]:
        | ValueTypes[OperationParameters[Name][Parameter] & keyof ValueTypes]
        | undefined
    }
  : Record<never, never>
/** Operations with the parameter `id`. */
export type OperationOnId = {
  [Name in keyof OperationParameters]: 'id' extends keyof OperationParameters[Name] ? Name : never
}[keyof OperationParameters]

/** Any of these operations lets a key see instances of its account, with their parts such as SSH keys. */
export const instanceAccessOperations = [
  'instances.get',
  'instances.list',
  'instances.watch',
  'instances.logs',
  'instances.metrics',
  'instances.execute',
  'instances.rent',
  'instances.update',
  'instances.changeBid',
  'instances.reboot',
  'instances.recycle',
  'instances.changeLaunch',
  'instances.setPolicy',
  'instances.attachSshKey',
  'instances.detachSshKey',
  'instances.destroy',
] as const
export type InstanceAccessOperation = Extract<(typeof instanceAccessOperations)[number], OperationOnId>

export const comparisons = ['eq', 'lte', 'gte'] as const
export type Comparison = (typeof comparisons)[number]
export type Bound = string | number | boolean
export type Constraint = Partial<Record<Comparison, Bound>>
export type Constraints = Record<string, Constraint>
export type UnmetConstraint = { parameter: string; comparison: Comparison; bound: Bound }
type Grant = Partial<Record<Operation, { constraints?: Constraints }>>

/** A category that maps to {} is granted whole. Otherwise only the operations that it lists are granted. */
export type Permissions = { api: Partial<Record<PermissionCategory, Grant>> }

/** Whether these permissions allow the operation with these parameters. Null permissions are full access. */
export function isAllowed(
  permissions: Permissions | null,
  operation: Operation,
  parameters: Record<string, unknown> = {},
): boolean {
  const constraints = constraintsOf(permissions, operation)
  return constraints !== undefined && unmetConstraints(constraints, parameters).length === 0
}

/** The bounds that the parameters of a request do not meet. A parameter that the request omits meets none. */
export function unmetConstraints(constraints: Constraints, parameters: Record<string, unknown>): UnmetConstraint[] {
  return Object.entries(constraints).flatMap(([parameter, constraint]) =>
    comparisons.flatMap(comparison => {
      const bound = constraint[comparison]
      const isMet = bound === undefined || meets(parameters[parameter], comparison, bound)
      return isMet ? [] : [{ parameter, comparison, bound }]
    }),
  )
}

/** Whether these permissions allow the operation with at least some parameters. */
export function isAllowedForSome(permissions: Permissions | null, operation: Operation): boolean {
  return constraintsOf(permissions, operation) !== undefined
}

/** The constraints on an operation; undefined when the operation is not allowed. */
export function constraintsOf(permissions: Permissions | null, operation: Operation): Constraints | undefined {
  if (permissions === null) return {}
  const grant = permissions.api[operationCategories[operation]]
  if (grant === undefined) return undefined
  if (Object.keys(grant).length === 0) return {}
  const rule = grant[operation]
  return rule && (rule.constraints ?? {})
}

function meets(value: unknown, comparison: Comparison, bound: Bound): boolean {
  if (comparison === 'eq') return value === bound
  if (typeof value !== typeof bound) return false
  return comparison === 'lte' ? (value as Bound) <= bound : (value as Bound) >= bound
}
