import { type Operation, operations } from '../domain/accounts/permissions/permissions.ts'

/** The sentence about permission that the description of every root field ends with. */
export function needs(operation: Operation): string {
  return `Needs the permission \`${operations[operation]}\`.`
}
