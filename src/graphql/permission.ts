import type { Operation } from '../domain/accounts/permissions/permissions.ts'
import { operationNames } from './accounts/operation-names.ts'

/** The sentence in the description of every root field that names its permission. */
export function permissionSentence(operation: Operation): string {
  return `Needs the permission \`${operationNames[operation]}\`.`
}
