import { CriticalityLevel, DiffRule, diff } from '@graphql-inspector/core'
import { buildSchema } from 'graphql'

/** The changes that break clients of the old schema. Removing a deprecated field does not count. */
export async function findBreakingChanges(before: string, after: string): Promise<string[]> {
  const changes = await diff(buildSchema(before), buildSchema(after), [DiffRule.suppressRemovalOfDeprecatedField])
  return changes
    .filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
    .map(({ message }) => message)
}
