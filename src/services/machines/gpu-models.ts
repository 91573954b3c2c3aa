import type { Prisma } from '../../database/generated/client.ts'
import type { Actor } from '../../domain/actor.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'

export function gpuModelServices({ database }: DataDeps) {
  return {
    /** Every model, in alphabetical order. There are some dozens of them, never thousands. */
    async list<Query extends Prisma.GpuModelFindManyArgs>(actor: Actor, query: Query) {
      authorize(actor, 'gpuModels.list')
      return await database.prisma.gpuModel.findMany({ ...query, orderBy: { name: 'asc' } })
    },

    async byIds(actor: Actor, ids: readonly number[]) {
      authorize(actor, 'gpuModels.list')
      return await database.prisma.gpuModel.findMany({ where: { id: { in: [...ids] } } })
    },

    /** The names alone are public: old clients read them without a key. */
    async names(): Promise<string[]> {
      const models = await database.prisma.gpuModel.findMany({ select: { name: true }, orderBy: { name: 'asc' } })
      return models.map(({ name }) => name)
    },
  }
}
