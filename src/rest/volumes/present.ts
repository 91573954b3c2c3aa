import type { z } from 'zod'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { usdToNumber } from '../../domain/money.ts'
import { priceVolume, type VolumeOffer } from '../../domain/volumes/offers.ts'
import type { Volume } from '../../domain/volumes/volumes.ts'
import { blockRow } from '../machines/present.ts'
import type { volumeOfferRowSchema, volumeRowSchema } from './row.ts'

/** The columns of the machine, which both rows share. */
function machineFields(machine: Machine & { gpuModel: GpuModel }) {
  const row = blockRow({ machine, firstGpu: 0, numGpus: machine.numGpus })
  return {
    machine_id: row.machine_id,
    host_id: row.host_id,
    cluster_id: row.cluster_id,
    disk_name: row.disk_name,
    disk_bw: row.disk_bw,
    driver_version: row.driver_version,
    verification: row.verification,
    geolocation: row.geolocation,
    inet_up: row.inet_up,
    inet_down: row.inet_down,
    reliability: row.reliability,
    reliability2: row.reliability2,
    hosting_type: row.hosting_type,
  }
}

export function volumeRow(volume: Volume): z.output<typeof volumeRowSchema> {
  const { id, name, sizeMb, attachment, createdAt, diskPricePerGbMonthNanos, diskNanos, machine } = volume
  return {
    id: Number(id),
    label: name,
    disk_space: sizeMb / 1000,
    status: attachment ? 'attached' : 'available',
    instances: attachment ? [Number(attachment.instanceId)] : [],
    mount_path: attachment?.mountPath ?? null,
    start_date: createdAt.getTime() / 1000,
    storage_cost: usdToNumber(diskPricePerGbMonthNanos),
    storage_total_cost: usdToNumber(diskNanos),
    ...machineFields(machine),
  }
}

export function volumeOfferRow(offer: VolumeOffer, sizeMb: number) {
  const { id, asOf, listedUntil, numGpus } = offer
  const row = blockRow({ machine: offer, firstGpu: 0, numGpus })
  const price = usdToNumber(priceVolume(offer, sizeMb).priceNanos)
  return {
    id,
    ask_contract_id: id,
    bundle_id: id,
    disk_space: offer.freeDiskMb / 1000,
    allocated_storage: sizeMb / 1000,
    storage_cost: usdToNumber(offer.diskPricePerGbMonthNanos),
    storage_total_cost: price,
    dph_total: price,
    duration: (listedUntil.getTime() - asOf.getTime()) / 1000,
    end_date: listedUntil.getTime() / 1000,
    ...machineFields(offer),
    inet_up_cost: row.inet_up_cost,
    inet_down_cost: row.inet_down_cost,
    cpu_arch: row.cpu_arch,
    cpu_ghz: row.cpu_ghz,
    cuda_max_good: row.cuda_max_good,
    public_ipaddr: row.public_ipaddr,
    static_ip: row.static_ip,
    external: null,
  } satisfies z.output<typeof volumeOfferRowSchema>
}
