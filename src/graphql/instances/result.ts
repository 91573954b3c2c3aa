import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import type { RefusalCode } from '../errors/codes.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { Instance } from './instances.ts'

/** The result of a mutation that changes one instance and returns it. */
export function instanceResult(mutation: string, description: string, done: string, errors: readonly RefusalCode[]) {
  return mutationResult<{ instance: InstanceShape }>(mutation, {
    description,
    success: {
      description: done,
      fields: t => ({
        instance: t.expose('instance', {
          type: Instance,
          description: 'Current state of the instance.',
        }),
      }),
    },
    errors,
  })
}
