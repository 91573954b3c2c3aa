import { DomainError, type Issue, invalidInput } from '../errors.ts'
import type { GpuModel, Machine } from '../machines/machines.ts'
import { mention, withIds } from '../messages.ts'
import { diskPricePerHour, printUsd } from '../money.ts'
import { maxDiskGb } from '../offers/offers.ts'

/** Sizes in GB. REST clients may leave the size out. */
export const volumeSizeGb = { least: 1, default: 15 }
export const defaultVolumeName = 'volume'

/**
 * A part of a machine's disk that outlives instances. Rates are in nano-dollars: `diskNanos` per hour, `diskPricePerGbMonthNanos` per
 * GB per month of 720 hours.
 */
export type Volume = {
  id: bigint
  accountId: number
  machineId: number
  name: string
  sizeMb: number
  diskPricePerGbMonthNanos: bigint
  diskNanos: bigint
  createdAt: Date
  machine: Machine & { gpuModel: GpuModel }
  /** The instance that has the volume, even while its container is being removed. */
  attachment: { instanceId: bigint; mountPath: string } | null
}

/** A volume of the renter that is not deleted, as the renting transaction reads it. */
export type VolumeFacts = {
  id: bigint
  machineId: number
  /** The instance that has the volume, even while its container is being removed. */
  instanceId: bigint | null
  removing: boolean
}

/** The settings of a new volume. */
export type NewVolume = { name?: string | undefined; sizeGb: number }

export function newVolumeIssues({ name, sizeGb }: NewVolume): Issue[] {
  const issues: Issue[] = []
  if (name) issues.push(...volumeNameIssues(name))
  if (!(sizeGb >= volumeSizeGb.least && sizeGb <= maxDiskGb)) {
    issues.push({
      path: 'sizeGb',
      message: `must be a number of GB from ${volumeSizeGb.least} to ${maxDiskGb}, not ${sizeGb}.`,
    })
  }
  return issues
}

/** Over both faces, a new volume may have an empty name: it then gets the default. A volume that exists may not. */
export function volumeNameIssues(name: string): Issue[] {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return []
  const least = name === '' ? 'from 1 to 64' : 'at most 64'
  return [{ path: 'name', message: `must have ${least} characters: letters, digits, _ and -.` }]
}

/**
 * Why a volume cannot be deleted, if it cannot. A destroyed instance keeps no volume: its container may stay for long, because
 * its machine may never answer again, and the volume would cost until then.
 */
export function deletionRefusal({
  id,
  instanceId,
  removing,
}: Pick<VolumeFacts, 'id' | 'instanceId' | 'removing'>): DomainError<'VOLUME_UNAVAILABLE'> | undefined {
  return instanceId === null || removing ? undefined : volumeInUse(id, instanceId, removing)
}

export function volumeInUse(id: bigint, instanceId: bigint, removing: boolean): DomainError<'VOLUME_UNAVAILABLE'> {
  const attached = withIds`Volume ${mention('Volume', id)} is attached to instance ${mention('Instance', instanceId)}`
  const message = removing
    ? withIds`${attached}, which is destroyed and being removed. Try again in a moment.`
    : withIds`${attached}. Destroy the instance first.`
  return new DomainError('VOLUME_UNAVAILABLE', message, { volumeId: id, instanceId, removing })
}

/** The details are empty: no instance was rented with a volume offer, and the alternatives are offers of GPUs. */
export function volumeOfferUnavailable(machineId: number): DomainError<'OFFER_UNAVAILABLE'> {
  const message = withIds`The storage of machine ${mention('Machine', machineId)} is not on the market. Search for another volume offer.`
  return new DomainError('OFFER_UNAVAILABLE', message, {
    instanceId: null,
    alternatives: [],
    failIfUnavailable: false,
  })
}

/** Whether a machine's free disk is on the market. Taking a machine off the market also drains it. */
export function isStorageListed(machine: Pick<Machine, 'listedUntil' | 'drainedAt'>, at: Date): boolean {
  return machine.listedUntil > at && machine.drainedAt === null
}

/** Returns the price per hour of a new volume on a machine, or throws if the volume does not fit or costs too much. */
export function priceVolume(
  machine: Machine,
  { sizeMb, maxPriceNanos }: { sizeMb: number; maxPriceNanos: bigint | undefined },
): bigint {
  if (sizeMb > machine.freeDiskMb) {
    const message = `must be at most ${machine.freeDiskMb / 1000}: the machine has no more free.`
    throw invalidInput([{ path: 'sizeGb', message }])
  }
  const price = diskPricePerHour(machine.diskPricePerGbMonthNanos, sizeMb)
  if (maxPriceNanos !== undefined && price > maxPriceNanos) {
    const message = `The volume costs $${printUsd(price)} an hour, more than your maximum of $${printUsd(maxPriceNanos)}.`
    throw new DomainError('PRICE_CHANGED', message, { currentPriceNanos: price })
  }
  return price
}
