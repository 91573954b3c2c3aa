import { DomainError, type Issue, invalidInput } from '../errors.ts'
import type { GpuModel, Machine } from '../machines/machines.ts'
import { diskPricePerHour, printUsd } from '../money.ts'
import { maxDiskGb } from '../offers/offers.ts'

/** Sizes in GB. REST clients may leave the size out. */
export const volumeSizeGb = { least: 1, default: 15 }
export const defaultVolumeName = 'volume'

/** A part of a machine's disk that outlives instances, with its machine. Rates are nano-dollars per hour. */
export type Volume = {
  id: bigint
  accountId: number
  machineId: number
  name: string
  sizeMb: number
  storageNanos: bigint
  diskNanos: bigint
  createdAt: Date
  machine: Machine & { gpuModel: GpuModel }
  /** The instance whose container has it, or had it and may be there still. */
  attachment: { instanceId: bigint; mountPath: string } | null
}

/** What a volume is to be, whoever makes it and with what. */
export type NewVolume = { name?: string | undefined; sizeGb: number }

/** What is wrong with a volume that is to be made. */
export function newVolumeIssues({ name, sizeGb }: NewVolume): Issue[] {
  const issues: Issue[] = []
  if (name && !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    issues.push({ path: 'name', message: 'must be of at most 64 letters, digits, _ and -.' })
  }
  if (!(sizeGb >= volumeSizeGb.least && sizeGb <= maxDiskGb)) {
    issues.push({
      path: 'sizeGb',
      message: `must be a number of GB from ${volumeSizeGb.least} to ${maxDiskGb}, not ${sizeGb}.`,
    })
  }
  return issues
}

export function volumeInUse(id: bigint, instanceId: bigint, removing: boolean): DomainError<'VOLUME_UNAVAILABLE'> {
  const message = removing
    ? `Volume ${id} is attached to instance ${instanceId}, which is destroyed and being removed. Try again in a moment.`
    : `Volume ${id} is attached to instance ${instanceId}.`
  return new DomainError('VOLUME_UNAVAILABLE', message, { volumeId: id, instanceId })
}

/** Whether a machine's free disk is on the market. A machine that is off it is drained too. */
export function isStorageListed(machine: Pick<Machine, 'listedUntil' | 'drainedAt'>, at: Date): boolean {
  return machine.listedUntil > at && machine.drainedAt === null
}

/** What a new volume costs per hour on a machine, or why it cannot be there. */
export function priceVolume(
  machine: Machine,
  { sizeMb, maxPriceNanos }: { sizeMb: number; maxPriceNanos: bigint | undefined },
): bigint {
  if (sizeMb > machine.freeDiskMb) {
    const message = `must be at most ${machine.freeDiskMb / 1000}, what this machine has free.`
    throw invalidInput([{ path: 'sizeGb', message }])
  }
  const price = diskPricePerHour(machine.storageNanos, sizeMb)
  if (maxPriceNanos !== undefined && price > maxPriceNanos) {
    const message = `The volume costs ${printUsd(price)} $ an hour, more than ${printUsd(maxPriceNanos)} $.`
    throw new DomainError('PRICE_CHANGED', message, { currentPriceNanos: price })
  }
  return price
}
