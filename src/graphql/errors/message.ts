import { printForbidden } from '../../domain/accounts/permissions/forbidden.ts'
import type { DomainError } from '../../domain/errors.ts'
import { printTypedIds } from '../../domain/messages.ts'
import { permissionWords } from '../accounts/operation-names.ts'

/** The message in GraphQL's words: ids have types there, and permissions other names than in the domain. */
export function printMessage({ code, details, messageWithIds }: DomainError): string {
  if (code !== 'FORBIDDEN' || details.refused === undefined) return printTypedIds(messageWithIds)
  return printForbidden(details.refused, details.missing, permissionWords)
}
