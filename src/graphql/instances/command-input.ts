// What the inputs of commands on one and on many instances share.

import { invalidInput } from '../../domain/errors.ts'

export const labelField = {
  description:
    'New label, 1 to 256 characters. Null removes the label; an absent label stays as it is. A request that changes nothing is refused.',
} as const

/** REST removes a label with "". Here null removes it, so that "" is probably a mistake. */
export function parseLabel(label: string | null | undefined): string | null | undefined {
  if (label !== '') return label
  throw invalidInput([{ path: 'label', message: 'must not be empty. Null removes the label.' }])
}

/** Where the input of a mutation has what the services call `ids` and `filter`, for the paths of issues. */
export const commandIds = {
  one: { ids: 'id' },
  many: { ids: 'target.ids', filter: 'target.filter' },
}
