import { z } from 'zod'
import { blockRowSchema, hourlySchema } from '../machines/row.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

/** Every column of an offer's row. Searches filter and order by most of them. */
export const offerRowSchema = z
  .object({
    id: integer('The offer. It is what an instance is created from, and is used up by that.'),
    ask_contract_id: integer('The same as id.'),
    bundle_id: integer('Equal for offers of one machine with the same number of GPUs.'),
    bundled_results: alwaysNull('Always null.'),
    ...blockRowSchema.shape,
    external: alwaysNull('Always null: no offer comes from another market.'),
    resource_type: z.literal('gpu').describe('What is rented: always "gpu".'),
    webpage: alwaysNull('Always null.'),
    logo: text('Always "".'),

    total_flops: number('The single precision TFLOPS of all GPUs together.'),
    flops_per_dphtotal: number('TFLOPS per $/h of the total price.'),
    dlperf: number('The score of all GPUs together in a deep learning benchmark.'),
    dlperf_per_dphtotal: number('dlperf per $/h of the total price.'),
    score: number('How much the offer is worth its money: dlperf per $/h, times reliability.'),

    rentable: boolean('Whether it can be rented now.'),
    rented: boolean('Whether the asking account rents it.'),
    is_bid: boolean('Whether the prices are those of an interruptible rental.'),
    start_date: number('Since when the offer has this id, in seconds since 1970.'),
    end_date: number('Until when the machine is listed, in seconds since 1970.'),
    duration: number('How long it can be rented at most, in seconds from now.'),
    time_remaining: text('Always "".'),
    time_remaining_isbid: text('Always "".'),

    dph_base: number('The price of the GPUs, in $/h.'),
    dph_total: number('The price of the GPUs and of the disk that was asked for, in $/h.'),
    discounted_dph_total: number('The total price after discounts, in $/h; there are none.'),
    credit_discount_max: number('The greatest discount: always 0.'),
    min_bid: number('The least bid that would win the GPUs now, in $/h.'),
    storage_cost: number('The price of disk, in $ per GB and month of 720 hours.'),
    storage_total_cost: number('The price of the disk that was asked for, in $/h.'),
    avail_vol_ask_id: integer("The offer of storage on the machine's disk, of which volumes can be made."),
    avail_vol_size: number('The largest volume that can be made there, in GB.'),
    avail_vol_dph: number('The price of a volume as large as the disk that was asked for, in $/h.'),
    vram_costperhour: number('The price of a GB of GPU memory, in $/h.'),
    search: hourlySchema.describe('What an instance costs while it runs.'),
    instance: hourlySchema.describe('What an instance costs while it is stopped.'),
  })
  .meta({ id: 'Offer', description: 'A machine, or a part of one, that can be rented.' })

export type OfferRow = z.output<typeof offerRowSchema>

/** Of a search that selects columns: those, with null for one that does not exist. */
export const offerColumnsSchema = offerRowSchema
  .partial()
  .catchall(z.null())
  .meta({ id: 'OfferColumns', description: 'The selected columns of an offer. One that does not exist is null.' })

export type OfferColumns = z.output<typeof offerColumnsSchema>
