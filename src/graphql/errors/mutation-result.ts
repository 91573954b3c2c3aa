// What a mutation returns: `<Mutation>Result`, the union of `<Mutation>Success` and the errors that can happen there.

import { brandWithType } from '@pothos/core'
import { DomainError, renameIssuePaths } from '../../domain/errors.ts'
import { translateDatabaseError } from '../../services/database-errors.ts'
import { builder } from '../builder.ts'
import { type NodeType, printId } from '../ids.ts'
import type { RefusalCode } from './codes.ts'
import type { RefusalValue } from './refusal.ts'
import { refusalTypes } from './refusal-types.ts'
import { toRefusalValue } from './refusal-value.ts'

type SuccessOptions<Success> = Parameters<ReturnType<typeof builder.objectRef<Success>>['implement']>[0]

type ResultOptions<Success> = {
  description: string
  success: SuccessOptions<Success>
  /** The codes that can happen in this mutation, and no others. */
  errors: readonly RefusalCode[]
}

/**
 * Makes the result of one mutation: `union` is the type of its field, and `answer` resolves it. Both type names come
 * from the name of the mutation, and no other mutation shares them: each can grow alone.
 */
export function mutationResult<Success extends object>(
  mutation: string,
  { description, success: successOptions, errors }: ResultOptions<Success>,
) {
  const name = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}`
  const success = builder.objectRef<Success>(`${name}Success`).implement(successOptions)
  const union = builder.unionType(`${name}Result`, {
    description,
    types: [...new Set([success, ...errors.map(code => refusalTypes[code])])],
  })
  /**
   * Runs the mutation. Declared errors become its answer; other errors are thrown. `names` renames the first part of
   * issue paths, from the domain's field to the input's.
   */
  async function answer(
    names: Record<string, string>,
    mutate: () => Promise<Success>,
  ): Promise<Success | RefusalValue> {
    try {
      const made = await mutate()
      brandWithType(made, success)
      return made
    } catch (error) {
      const known = renameIssuePaths(translateDatabaseError(error), names)
      if (known instanceof DomainError && errors.some(code => code === known.code)) return toRefusalValue(known)
      throw error
    }
  }
  return { union, answer }
}

/**
 * The result of the mutation that deletes an item of this type. The field is `deletedId`, since errors have an `id` that
 * one selection may also ask for.
 */
export function deleteResult(type: NodeType, noun: string, errors: readonly RefusalCode[]) {
  return mutationResult<{ deletedId: number | bigint }>(`delete${type}`, {
    description: `The ID of the deleted ${noun}, or the error that prevented the deletion.`,
    success: {
      description: `The ${noun} was deleted.`,
      fields: t => ({
        deletedId: t.id({
          description: `ID of the deleted ${noun}.`,
          resolve: ({ deletedId }) => printId(type, deletedId),
        }),
      }),
    },
    errors,
  })
}
