// The offers that a stream remembers, and how they differ from the market now.

import { maxWatched, type OfferChange, tooManyWatched } from '../../domain/offers/watch.ts'
import type { FoundOffer, OfferSnapshot } from './reader.ts'

export type RememberedOffers = {
  accountId: number
  /** By machine, so that a change of one machine does not touch the offers of other machines. */
  machines: Map<number, Map<bigint, OfferSnapshot>>
  /** Number of offers. */
  size: number
  /** No remembered offer ends before this instant, in ms. */
  nextEnd: number
}

export function createRememberedOffers(accountId: number): RememberedOffers {
  return { accountId, machines: new Map(), size: 0, nextEnd: Number.POSITIVE_INFINITY }
}

/** Yields the changes of offers on these machines. A change is remembered just before it is yielded. */
export function* diffOffers(
  remembered: RememberedOffers,
  found: FoundOffer[],
  machineIds: number[],
): Generator<OfferChange> {
  const ids = new Set(found.map(({ offer }) => offer.id))
  for (const machineId of machineIds)
    for (const offerId of remembered.machines.get(machineId)?.keys() ?? []) {
      if (ids.has(offerId)) continue
      forget(remembered, machineId, offerId)
      yield { kind: 'removed', offerId, offer: null }
    }
  for (const { offer, snapshot } of found) {
    const before = remembered.machines.get(offer.machineId)?.get(offer.id)
    if (before?.fingerprint === snapshot.fingerprint) continue
    remember(remembered, offer.id, snapshot)
    if (remembered.size > maxWatched) throw tooManyWatched()
    yield { kind: before ? 'updated' : 'added', offerId: offer.id, offer }
  }
}

/** The machines with offers that ended at `at` or earlier. Empty until another remembered offer ends. */
export function takeEndedMachines(remembered: RememberedOffers, at: Date): number[] {
  const nowMs = at.getTime()
  if (nowMs < remembered.nextEnd) return []
  const ended: number[] = []
  remembered.nextEnd = Number.POSITIVE_INFINITY
  for (const [machineId, offers] of remembered.machines)
    for (const { listedUntil } of offers.values()) {
      if (listedUntil.getTime() <= nowMs) ended.push(machineId)
      else remembered.nextEnd = Math.min(remembered.nextEnd, listedUntil.getTime())
    }
  return ended
}

function remember(remembered: RememberedOffers, offerId: bigint, snapshot: OfferSnapshot): void {
  const offers = remembered.machines.get(snapshot.machineId) ?? new Map<bigint, OfferSnapshot>()
  remembered.machines.set(snapshot.machineId, offers)
  if (!offers.has(offerId)) remembered.size += 1
  offers.set(offerId, snapshot)
  remembered.nextEnd = Math.min(remembered.nextEnd, snapshot.listedUntil.getTime())
}

function forget(remembered: RememberedOffers, machineId: number, offerId: bigint): void {
  const offers = remembered.machines.get(machineId)
  if (!offers?.delete(offerId)) return
  remembered.size -= 1
  if (offers.size === 0) remembered.machines.delete(machineId)
}
