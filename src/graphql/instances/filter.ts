import type { InstanceFilter as Filter } from '../../domain/instances/filter.ts'
import { maxIdsPerFilter } from '../../domain/instances/filter.ts'
import { builder } from '../builder.ts'
import { DateTimeFilter, IdFilter, IntFilter, parseDateTimeFilter, StringFilter, withoutNulls } from '../filters.ts'
import { parseId } from '../ids.ts'
import { RentalKind } from '../offers/price.ts'
import { InstanceStatus, TargetState } from './status.ts'

export const InstanceFilter = builder.inputType('InstanceFilter', {
  description:
    'Conditions for instances. All given fields must match; null and absent fields match every instance. Destroyed instances match only if `ids` or `status` asks for them.',
  fields: t => ({
    ids: t.idList({
      description: `IDs of the instances, such as \`ins_42\` or \`42\`, at most ${maxIdsPerFilter}. Finds destroyed instances, too, unless \`status\` is given.`,
    }),
    label: t.field({
      type: StringFilter,
      description: 'Label that the renter gave the instance. A missing label compares as "".',
    }),
    status: t.field({
      type: [InstanceStatus],
      description: 'Observed state of the instance: one of these. `DESTROYED` finds destroyed instances.',
    }),
    targetState: t.field({ type: TargetState, description: 'Desired state of the instance.' }),
    rentalKind: t.field({ type: RentalKind, description: 'Rental terms of the instance: on demand or interruptible.' }),
    gpuName: t.field({ type: StringFilter, description: 'Name of the GPU model, such as "RTX 4090".' }),
    numGpus: t.field({ type: IntFilter, description: 'Number of GPUs of the instance.' }),
    machineId: t.field({
      type: IdFilter,
      description: 'ID of the machine that hosts the instance, such as `mch_42` or `42`.',
    }),
    templateId: t.id({
      description: 'ID of the template that the instance was rented with, such as `tpl_42` or `42`.',
    }),
    templateHashId: t.string({
      description:
        '`hashId` of the template when the instance took its settings, as `Instance.templateHashId` shows it.',
    }),
    createdAt: t.field({ type: DateTimeFilter, description: 'Time when the instance was rented.' }),
    idempotencyKey: t.string({
      description: 'Idempotency key of the rent request. Finds the instance after its response was lost.',
    }),
  }),
})

type FilterInput = typeof InstanceFilter.$inferInput

/** `path` is where the input has the filter, for the paths of issues. */
export function parseInstanceFilter(input: FilterInput, path = 'filter'): Filter {
  const { ids, status, targetState, rentalKind, templateId, templateHashId, idempotencyKey, machineId, ...conditions } =
    input
  return {
    ids: ids?.map((id, index) => parseId('Instance', String(id), `${path}.ids.${index}`)),
    status: status ?? undefined,
    targetState: targetState ?? undefined,
    rentalKind: rentalKind ?? undefined,
    templateId: templateId == null ? undefined : parseId('Template', templateId, `${path}.templateId`),
    templateHashId: templateHashId ?? undefined,
    idempotencyKey: idempotencyKey ?? undefined,
    label: withoutNulls(conditions.label),
    gpuName: withoutNulls(conditions.gpuName),
    numGpus: withoutNulls(conditions.numGpus),
    createdAt: parseDateTimeFilter(conditions.createdAt),
    machineId: parseMachineIds(machineId, `${path}.machineId`),
  }
}

function parseMachineIds(machineId: FilterInput['machineId'], path: string): Filter['machineId'] {
  if (!machineId) return undefined
  const { eq, neq, in: one, nin } = machineId
  const parse = (id: string, place: string) => parseId('Machine', String(id), `${path}.${place}`)
  return {
    eq: eq == null ? undefined : parse(eq, 'eq'),
    neq: neq == null ? undefined : parse(neq, 'neq'),
    in: one?.map((id, index) => parse(id, `in.${index}`)),
    nin: nin?.map((id, index) => parse(id, `nin.${index}`)),
  }
}
