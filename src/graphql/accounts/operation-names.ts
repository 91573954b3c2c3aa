// The names of permissions in GraphQL. REST and stored permissions keep the names of the domain.

import type { PermissionWords } from '../../domain/accounts/permissions/forbidden.ts'
import type { MissingPermission } from '../../domain/accounts/permissions/missing.ts'
import {
  type Operation,
  operationCategories,
  operationParameters,
  type PermissionCategory,
} from '../../domain/accounts/permissions/permissions.ts'
import { type NodeType, printId } from '../ids.ts'

/**
 * Each operation is named as the field that it allows. One that allows several is named as the field with the widest
 * effect; its description lists them all.
 */
export const operationNames = {
  'offers.search': 'OFFERS',
  'offers.get': 'OFFER',
  'offers.watch': 'OFFER_CHANGES',
  'gpuModels.list': 'GPU_MODELS',
  'machines.get': 'MACHINE',
  'machines.hosted': 'HOSTED_MACHINES',
  'accounts.viewer': 'ACCOUNT',
  'billing.spendLimits': 'SPEND_LIMITS',
  'billing.setSpendLimit': 'UPDATE_SPEND_LIMIT',
  'billing.deleteSpendLimit': 'DELETE_SPEND_LIMIT',
  'apiKeys.list': 'API_KEYS',
  'apiKeys.create': 'CREATE_API_KEY',
  'apiKeys.update': 'UPDATE_API_KEY',
  'apiKeys.reset': 'ROTATE_API_KEY_SECRET',
  'apiKeys.revoke': 'DELETE_API_KEY',
  'sshKeys.list': 'SSH_KEYS',
  'sshKeys.register': 'CREATE_SSH_KEY',
  'sshKeys.replace': 'UPDATE_SSH_KEY',
  'sshKeys.delete': 'DELETE_SSH_KEY',
  'secretVariables.list': 'SECRET_VARIABLES',
  'secretVariables.set': 'UPDATE_SECRET_VARIABLES',
  'secretVariables.delete': 'DELETE_SECRET_VARIABLES',
  'templates.list': 'TEMPLATES',
  'templates.listOwn': 'OWN_TEMPLATES',
  'templates.get': 'TEMPLATE',
  'templates.save': 'UPDATE_TEMPLATE',
  'templates.delete': 'DELETE_TEMPLATE',
  'instances.list': 'INSTANCES',
  'instances.get': 'INSTANCE',
  'instances.watch': 'INSTANCE_CHANGES',
  'instances.events': 'INSTANCE_EVENTS',
  'instances.logs': 'INSTANCE_LOGS',
  'instances.metrics': 'INSTANCE_METRICS',
  'instances.quote': 'RENT_QUOTE',
  'instances.rent': 'RENT_INSTANCE',
  'instances.update': 'UPDATE_INSTANCE',
  'instances.changeBid': 'UPDATE_INSTANCE_BID',
  'instances.reboot': 'REBOOT_INSTANCE',
  'instances.recycle': 'RECYCLE_INSTANCE',
  'instances.changeLaunch': 'CHANGE_INSTANCE_LAUNCH',
  'instances.setPolicy': 'UPDATE_INSTANCE_POLICY',
  'instances.attachSshKey': 'ATTACH_SSH_KEY',
  'instances.detachSshKey': 'DETACH_SSH_KEY',
  'instances.execute': 'EXECUTE_COMMAND',
  'instances.destroy': 'DESTROY_INSTANCE',
  'volumes.search': 'VOLUME_OFFERS',
  'volumes.list': 'VOLUMES',
  'volumes.get': 'VOLUME',
  'volumes.create': 'CREATE_VOLUME',
  'volumes.update': 'UPDATE_VOLUME',
  'volumes.delete': 'DELETE_VOLUME',
  'events.list': 'EVENTS',
  // Two fields are named `events`.
  'events.watch': 'EVENTS_SUBSCRIPTION',
  'billing.ledger': 'LEDGER',
  'billing.usage': 'USAGE',
  'webhooks.list': 'WEBHOOKS',
  'webhooks.create': 'CREATE_WEBHOOK',
  'webhooks.update': 'UPDATE_WEBHOOK',
  'webhooks.test': 'TEST_WEBHOOK',
  'webhooks.rotate': 'ROTATE_WEBHOOK_SECRET',
  'webhooks.delete': 'DELETE_WEBHOOK',
} as const satisfies Record<Operation, string>

export function categoryName(category: PermissionCategory): string {
  return category === 'misc' ? 'MARKET_READ' : category.toUpperCase()
}

/** The type of the ids that a constraint on this parameter compares; undefined for other parameters. */
export function parameterIdType(operation: Operation, parameter: string): NodeType | undefined {
  const parameters: object = (operationParameters as Partial<Record<Operation, object>>)[operation] ?? {}
  if (!Object.hasOwn(parameters, parameter)) return undefined
  if (parameter === 'offerId') return 'Offer'
  if (parameter === 'machineId') return 'Machine'
  return parameter === 'id' ? idTypes[operation.split('.')[0] as string] : undefined
}

/** By the first part of an operation. */
const idTypes: Record<string, NodeType> = {
  apiKeys: 'ApiKey',
  billing: 'SpendLimit',
  instances: 'Instance',
  sshKeys: 'SshKey',
  templates: 'Template',
  volumes: 'Volume',
  webhooks: 'Webhook',
}

/** RENT_INSTANCE, INSTANCE_WRITE or FULL_ACCESS. */
export function missingName({ category, operation }: MissingPermission): string {
  if (operation) return operationNames[operation]
  return category === 'full access' ? 'FULL_ACCESS' : categoryName(category)
}

export const permissionWords: PermissionWords = {
  missing: permission => {
    const { operation, parameter } = permission
    if (!operation) return missingName(permission)
    const constraint = parameter === undefined ? '' : ` without its constraint on ${parameter}`
    return `${nameWithCategory(operation)}${constraint}`
  },
  constrained: ({ operation }) => `${operation ? nameWithCategory(operation) : ''} has constraints`,
  bound: ({ operation }, { parameter, bound }) => {
    const type = operation && parameterIdType(operation, parameter)
    return type && typeof bound === 'number' ? printId(type, bound) : String(bound)
  },
}

function nameWithCategory(operation: Operation): string {
  return `${operationNames[operation]} of the category ${categoryName(operationCategories[operation])}`
}
