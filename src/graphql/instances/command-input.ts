// What the inputs of commands on one and on many instances share.

import { invalidInput } from '../../domain/errors.ts'
import { blankNameIssues } from '../mutations.ts'

export const labelField = {
  description:
    'New label, 1 to 256 characters, not blank. Null removes the label; an absent label stays as it is. A request that changes nothing is refused.',
} as const

export function parseLabel(label: string | null | undefined): string | null | undefined {
  const issues = blankNameIssues({ label })
  if (issues.length > 0) throw invalidInput(issues)
  return label
}

/** Where the input of a mutation has what the services call `ids` and `filter`, for the paths of issues. */
export const commandIds = {
  one: { ids: 'id' },
  many: { ids: 'target.ids', filter: 'target.filter' },
}
