import { type Operation, operationCategories } from '../domain/accounts/permissions/permissions.ts'

/** The sentence in the description of every root field that names its permission. */
export function permissionSentence(operation: Operation): string {
  return `Needs the permission \`${operationCategories[operation]}\`.`
}
