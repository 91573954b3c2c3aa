// The errors of a key that lacks permissions. Each face prints permissions in its own words.

import { DomainError } from '../../errors.ts'
import { type MissingPermission, printMissingPermission, type RefusedUse } from './missing.ts'
import type { Comparison, UnmetConstraint } from './permissions.ts'

export type PermissionWords = {
  /** Continues a sentence that ends in "lacks". */
  missing: (permission: MissingPermission) => string
  /** Continues a sentence that ends in "its permission". */
  constrained: (permission: MissingPermission) => string
  /** The value of a bound. */
  bound: (permission: MissingPermission, constraint: UnmetConstraint) => string
}

const domainWords: PermissionWords = {
  missing: printMissingPermission,
  constrained: ({ category, operation }) => `${category} has constraints for ${operation}`,
  bound: (_permission, { bound }) => String(bound),
}

export function forbidden(refused: RefusedUse, missing: MissingPermission[]): DomainError<'FORBIDDEN'> {
  return new DomainError('FORBIDDEN', printForbidden(refused, missing, domainWords), { missing, refused })
}

export function printForbidden(refused: RefusedUse, missing: MissingPermission[], words: PermissionWords): string {
  const list = missing.map(refused === 'constrained request' ? words.constrained : words.missing).join(', ')
  const unmet = missing
    .flatMap(one => (one.unmet ?? []).map(each => printUnmet(each, words.bound(one, each))))
    .join(', ')
  const sentences: Record<RefusedUse, string> = {
    request: `This key may not do this: it lacks the permission ${list}.`,
    'constrained request': `This key may not do this: its permission ${list} that this request does not meet: ${unmet}.`,
    grant: `This key cannot grant permissions beyond its own: it lacks ${list}.`,
    events: `This key cannot send a webhook events that it may not read: it lacks ${list}.`,
  }
  return sentences[refused]
}

const comparisonWords: Record<Comparison, string> = { eq: 'must be', lte: 'must be at most', gte: 'must be at least' }

function printUnmet({ parameter, comparison }: UnmetConstraint, bound: string): string {
  return `${parameter} ${comparisonWords[comparison]} ${bound}`
}
