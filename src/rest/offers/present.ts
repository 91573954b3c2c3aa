import { usdToNumber } from '../../domain/money.ts'
import { availableSecondsOf, tflopsOf } from '../../domain/offers/fields.ts'
import { isRentable, type OfferFacts, type Pricing, priceOffer } from '../../domain/offers/offers.ts'
import type { Selected, SelectOf } from '../../services/selected.ts'
import { blockRow, blockRowSelect, hourlyRow } from '../machines/present.ts'
import type { OfferRow } from './row.ts'

/** What `offerRow` reads. */
export const offerRowSelect = {
  ...blockRowSelect,
  id: true,
  gpuPriceNanos: true,
  minBidNanos: true,
  dlperf: true,
  score: true,
  rentable: true,
  listedAt: true,
  asOf: true,
  machine: {
    select: {
      ...blockRowSelect.machine.select,
      diskPricePerGbMonthNanos: true,
      listedUntil: true,
      gpuModel: { select: { ...blockRowSelect.machine.select.gpuModel.select, tflops: true } },
    },
  },
} satisfies SelectOf<OfferFacts>

/** An offer as a row, with every field that clients read, in the types and units that they expect. */
export function offerRow(offer: Selected<OfferFacts, typeof offerRowSelect>, pricing: Pricing): OfferRow {
  const { id, machine, numGpus } = offer
  const { price } = priceOffer(offer, pricing)
  const { gpuModel } = machine
  const dollars = usdToNumber(price.totalNanos)
  const gpu = usdToNumber(price.gpuPriceNanos)
  const disk = usdToNumber(price.diskNanos)
  return {
    id: Number(id),
    ask_contract_id: Number(id),
    bundle_id: machine.id * 100 + numGpus,
    bundled_results: null,
    ...blockRow(offer),
    external: null,
    resource_type: 'gpu',
    webpage: null,
    logo: '',

    total_flops: tflopsOf(offer),
    flops_per_dphtotal: tflopsOf(offer) / dollars,
    dlperf: offer.dlperf,
    dlperf_per_dphtotal: offer.dlperf / dollars,
    score: offer.score,

    rentable: isRentable(offer),
    // A rental uses up the id of an offer.
    rented: false,
    is_bid: pricing.rentalKind === 'interruptible',
    start_date: offer.listedAt.getTime() / 1000,
    end_date: machine.listedUntil.getTime() / 1000,
    duration: availableSecondsOf(offer),
    time_remaining: '',
    time_remaining_isbid: '',

    dph_base: gpu,
    dph_total: dollars,
    discounted_dph_total: dollars,
    credit_discount_max: 0,
    min_bid: usdToNumber(offer.minBidNanos),
    storage_cost: usdToNumber(machine.diskPricePerGbMonthNanos),
    storage_total_cost: disk,
    avail_vol_ask_id: machine.id,
    avail_vol_size: machine.freeDiskMb / 1000,
    avail_vol_dph: disk,
    vram_costperhour: (gpu * 1024) / (gpuModel.ramMb * numGpus),
    search: hourlyRow(gpu, disk, dollars),
    instance: hourlyRow(0, disk, disk),
  }
}
