// How much one operation can ask for: the fields that it can answer, and the machines that it reads.

import { type GraphQLError, type GraphQLResolveInfo, OperationTypeNode } from 'graphql'
import { maxPageSize } from '../../domain/pages.ts'
import type { Context } from '../context.ts'
import { faceError } from '../errors/face-errors.ts'

/** Maximum number of fields in one answer. A field inside lists counts once for each item that they can have. */
export const maxCost = 10_000

/**
 * Maximum number of machines that one operation reads. Each read sends a request and waits up to five seconds, which the
 * number of fields does not say: a page of instances with one line each is a small answer.
 */
export const maxMachineReads = maxPageSize

export function costError(requested: number): GraphQLError {
  const message = `This operation can cost ${requested} fields; at most ${maxCost} are allowed. Select fewer fields, or ask for smaller pages or a shorter period.`
  return faceError('COST_LIMIT_EXCEEDED', message)
}

const machineReads = new WeakMap<Context, number>()

/**
 * Counts a request to a machine. Throws once the operation has sent the maximum, so that only the field itself fails. A
 * subscription sends none: its items follow one another, so a silent machine would hold up all others.
 */
export function countMachineRead(context: Context, { operation }: Pick<GraphQLResolveInfo, 'operation'>): void {
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
    const message = 'A subscription reads no machines. Query the logs after a change, or subscribe to `instanceLogs`.'
    throw faceError('COST_LIMIT_EXCEEDED', message)
  }
  const count = (machineReads.get(context) ?? 0) + 1
  if (count > maxMachineReads) {
    const message = `This operation reads more than ${maxMachineReads} machines, the maximum. Read the logs of fewer instances.`
    throw faceError('COST_LIMIT_EXCEEDED', message)
  }
  machineReads.set(context, count)
}
