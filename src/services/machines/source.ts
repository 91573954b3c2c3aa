import { Prisma } from '../../database/generated/client.ts'

/** Selects the columns of a model. `fields` is Prisma's list of them. */
export function columnsOf<Field extends string>(fields: Record<Field, string>): Record<Field, true> {
  // Safe: the keys are those of the list.
  return Object.fromEntries(Object.keys(fields).map(field => [field, true])) as Record<Field, true>
}

/** Selects all of a machine, with its GPU model. */
export const wholeMachine = {
  ...columnsOf(Prisma.MachineScalarFieldEnum),
  gpuModel: { select: columnsOf(Prisma.GpuModelScalarFieldEnum) },
}
