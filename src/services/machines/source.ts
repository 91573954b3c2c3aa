import { Prisma } from '../../database/generated/client.ts'
import { columnsOf } from '../../database/selection/columns.ts'
import type { Source } from '../../database/selection/reading.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'

type WholeMachine = Machine & { gpuModel: GpuModel }

/** Where statements of machines `m` and their GPU models `g` have the rows of a selection, with computed values. */
export function machineSource<Values>(
  computed: Record<keyof Values & string, Prisma.Sql>,
): Source<WholeMachine & Values> {
  return { model: 'Machine', alias: 'm', computed, relations }
}

/** Every statement of machines joins their models. */
const relations = { gpuModel: { model: 'GpuModel', alias: 'g', join: Prisma.empty } } as const

/** Selects all of a machine, with its GPU model. */
export const wholeMachine = {
  ...columnsOf(Prisma.MachineScalarFieldEnum),
  gpuModel: { select: columnsOf(Prisma.GpuModelScalarFieldEnum) },
}
