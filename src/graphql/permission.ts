import { type Operation, operationCategories } from '../domain/accounts/permissions/permissions.ts'

/** The sentence about permission that the description of every root field ends with. */
export function permissionSentence(operation: Operation): string {
  return `Needs the permission \`${operationCategories[operation]}\`.`
}
