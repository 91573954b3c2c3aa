// The market of a machine with a new rental.

import type { RentInput, TargetOffer } from '../../../domain/instances/rent/decide.ts'
import type { Port } from '../../../domain/launch/env.ts'
import type { Launch } from '../../../domain/launch/launch.ts'
import type { Machine } from '../../../domain/machines/machines.ts'
import { type Claim, selectGranted } from '../../../domain/machines/market.ts'
import { newVolumesMb } from '../../../domain/volumes/mount.ts'
import type { Market } from '../../machines/market-writes.ts'
import type { LockedMarket } from './facts.ts'

/** A rental without blockers. */
export type DecidedRental = {
  input: RentInput
  template: { id: number; hash: string } | undefined
  launch: Launch
  /** The public ports to bind. */
  ports: Port[]
  offer: TargetOffer
  machine: Machine
  gpuPriceNanos: bigint
  idempotencyKey: string | null
}

/** The market with the rental. Its claim is missing if the instance should not run. */
export type RentalMarket = Market & { claim: Claim | undefined }

/** Decides who gets the GPUs, before anything is written. */
export function marketWithRental(
  { launch, input, offer, machine, gpuPriceNanos, ports }: DecidedRental,
  { claims, offers, instanceId }: LockedMarket,
  at: Date,
): RentalMarket {
  const { firstGpu, numGpus } = offer
  const { interruptible } = input.terms
  const wanted = { instanceId, firstGpu, numGpus, interruptible, gpuPriceNanos, claimedAt: at, holdsGpus: false }
  const claim = launch.targetState === 'running' ? wanted : undefined
  const allClaims = claim ? [...claims, claim] : claims
  const machineAfter = {
    ...machine,
    freeDiskMb: machine.freeDiskMb - launch.diskMb - newVolumesMb(launch.newVolumes),
    freePorts: machine.freePorts - ports.length,
  }
  const others = offers.filter(({ id }) => id !== offer.id)
  return { machine: machineAfter, claims: allClaims, granted: selectGranted(allClaims), offers: others, claim }
}
