import { z } from 'zod'
import { blockRowSchema, hourlySchema } from '../machines/row.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

/** Every column of an offer's row. Searches filter and sort by most of them. */
export const offerRowSchema = z
  .object({
    id: integer('ID of the offer. Creating an instance uses it up.'),
    ask_contract_id: integer('The same as id.'),
    bundle_id: integer('Equal for offers on one machine with the same number of GPUs.'),
    bundled_results: alwaysNull('Always null.'),
    ...blockRowSchema.shape,
    external: alwaysNull('Always null: no offer comes from another market.'),
    resource_type: z.literal('gpu').describe('Type of the rented resource; always "gpu".'),
    webpage: alwaysNull('Always null.'),
    logo: text('Always "".'),

    total_flops: number('Single precision TFLOPS of all GPUs together.'),
    flops_per_dphtotal: number('total_flops per $/h of the total price.'),
    dlperf: number('Score of all GPUs together in a deep learning benchmark.'),
    dlperf_per_dphtotal: number('dlperf per $/h of the total price.'),
    score: number('Performance per dollar: dlperf per $/h, multiplied by reliability. Higher is better.'),

    rentable: boolean('Whether the offer can be rented now.'),
    rented: boolean('Whether the account of the caller rents the offer.'),
    is_bid: boolean('Whether the prices are for an interruptible rental.'),
    start_date: number('Time since which the offer has this id, in seconds since 1970.'),
    end_date: number('Time at which the machine leaves the market, in seconds since 1970.'),
    duration: number('Maximum duration of a rental from now, in seconds.'),
    time_remaining: text('Always "".'),
    time_remaining_isbid: text('Always "".'),

    dph_base: number('Price of the GPUs, in US dollars per hour.'),
    dph_total: number('Price of the GPUs and the requested disk, in US dollars per hour.'),
    discounted_dph_total: number('Total price after discounts, in US dollars per hour; the same as dph_total.'),
    credit_discount_max: number('Maximum discount; always 0.'),
    min_bid: number('Lowest bid that wins the GPUs now, in US dollars per hour.'),
    storage_cost: number('Price of disk, in US dollars per GB per month of 720 hours.'),
    storage_total_cost: number('Price of the requested disk, in US dollars per hour.'),
    avail_vol_ask_id: integer('ID of the volume offer of the machine, for volumes.'),
    avail_vol_size: number('Maximum size of a volume on the machine, in GB.'),
    avail_vol_dph: number('Price of a volume of the size of the requested disk, in US dollars per hour.'),
    vram_costperhour: number('Price per GB of GPU memory, in US dollars per hour.'),
    search: hourlySchema.describe('Price of an instance while it runs.'),
    instance: hourlySchema.describe('Price of an instance while it is stopped.'),
  })
  .meta({ id: 'Offer', description: 'An offer: a machine, or a part of one, to rent.' })

export type OfferRow = z.output<typeof offerRowSchema>

/** A row of a search that selects columns. A column that does not exist is null. */
export const offerColumnsSchema = offerRowSchema
  .partial()
  .catchall(z.null())
  .meta({ id: 'OfferColumns', description: 'The selected columns of an offer. A column that does not exist is null.' })

export type OfferColumns = z.output<typeof offerColumnsSchema>
