import type { Prisma } from '../../database/generated/client.ts'
import type { Actor } from '../../domain/actor.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'

export function gpuModelServices({ database }: DataDeps) {
  return {
    /** Every model, in alphabetical order. The list has no pages, because there are only dozens of models. */
    async list<Query extends Prisma.GpuModelFindManyArgs>(actor: Actor, query: Query) {
      authorize(actor, 'gpuModels.list')
      return await database.prisma.gpuModel.findMany({ ...query, orderBy: { name: 'asc' } })
    },

    async byIds<Select extends Prisma.GpuModelSelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorize(actor, 'gpuModels.list')
      return await database.prisma.gpuModel.findMany({ where: { id: { in: [...ids] } }, select })
    },

    /** Public: old clients read the names without a key. */
    async names(): Promise<string[]> {
      const models = await database.prisma.gpuModel.findMany({ select: { name: true }, orderBy: { name: 'asc' } })
      return models.map(({ name }) => name)
    },
  }
}
