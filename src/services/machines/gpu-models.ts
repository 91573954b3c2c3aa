import type { Actor } from '../../domain/actor.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../selected.ts'

export type GpuModelSelect = ColumnSelect<'GpuModel', 'id'>
type SelectedModel<Select> = SelectedColumns<'GpuModel', 'id', Select>

export function gpuModelServices({ database }: DataDeps) {
  return {
    /** Every model, in alphabetical order. The list has no pages, because there are only dozens of models. */
    async list<const Select extends GpuModelSelect>(actor: Actor, select: Select): Promise<SelectedModel<Select>[]> {
      authorize(actor, 'gpuModels.list')
      return asSelected(await database.prisma.gpuModel.findMany({ select, orderBy: { name: 'asc' } }))
    },

    async byIds<const Select extends GpuModelSelect>(
      actor: Actor,
      ids: readonly number[],
      select: Select,
    ): Promise<SelectedModel<Select>[]> {
      authorize(actor, 'gpuModels.list')
      return asSelected(await database.prisma.gpuModel.findMany({ where: { id: { in: [...ids] } }, select }))
    },

    /** Public: old clients read the names without a key. */
    async names(): Promise<string[]> {
      const models = await database.prisma.gpuModel.findMany({ select: { name: true }, orderBy: { name: 'asc' } })
      return models.map(({ name }) => name)
    },
  }
}
