import { CriticalityLevel, DiffRule, diff } from '@graphql-inspector/core'
import { buildSchema } from 'graphql'

/** What clients of the old schema lose in the new one. Removing what was deprecated before is not a loss. */
export async function findBreakingChanges(before: string, after: string): Promise<string[]> {
  const changes = await diff(buildSchema(before), buildSchema(after), [DiffRule.suppressRemovalOfDeprecatedField])
  return changes
    .filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
    .map(({ message }) => message)
}
