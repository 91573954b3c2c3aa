import { Prisma } from '../../../database/generated/client.ts'
import { columnsOf } from '../../../database/selection/columns.ts'
import type { Source } from '../../../database/selection/reading.ts'
import type { OfferFacts } from '../../../domain/offers/offers.ts'
import { wholeMachine } from '../../machines/source.ts'

const { sql } = Prisma

/** Where statements of offers `o` have the rows of a selection. */
export function offerSource(nowSql: Prisma.Sql): Source<OfferFacts> {
  return { model: 'Offer', alias: 'o', computed: { asOf: nowSql }, relations }
}

const relations = {
  machine: {
    model: 'Machine',
    alias: 'm',
    join: sql`JOIN machines m ON m.id = o.machine_id`,
    relations: {
      gpuModel: {
        model: 'GpuModel',
        alias: 'g',
        join: sql`JOIN gpu_models g ON g.id = o.gpu_model_id`,
        fromRoot: true,
      },
    },
  },
} as const

/** Selects all of an offer. */
export const wholeOffer = {
  ...columnsOf(Prisma.OfferScalarFieldEnum),
  asOf: true as const,
  machine: { select: wholeMachine },
}
