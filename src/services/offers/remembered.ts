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
export function* diffOffers(seen: RememberedOffers, found: FoundOffer[], machineIds: number[]): Generator<OfferChange> {
  const ids = new Set(found.map(({ offer }) => offer.id))
  for (const machineId of machineIds)
    for (const offerId of seen.machines.get(machineId)?.keys() ?? []) {
      if (ids.has(offerId)) continue
      forget(seen, machineId, offerId)
      yield { kind: 'removed', offerId, offer: null }
    }
  for (const { offer, snapshot } of found) {
    const before = seen.machines.get(offer.machineId)?.get(offer.id)
    if (before?.fingerprint === snapshot.fingerprint) continue
    remember(seen, offer.id, snapshot)
    if (seen.size > maxWatched) throw tooManyWatched()
    yield { kind: before ? 'updated' : 'added', offerId: offer.id, offer }
  }
}

/** The machines with offers that ended at `at` or earlier. Empty until another remembered offer ends. */
export function takeEndedMachines(seen: RememberedOffers, at: Date): number[] {
  const nowMs = at.getTime()
  if (nowMs < seen.nextEnd) return []
  const ended: number[] = []
  seen.nextEnd = Number.POSITIVE_INFINITY
  for (const [machineId, offers] of seen.machines)
    for (const { listedUntil } of offers.values()) {
      if (listedUntil.getTime() <= nowMs) ended.push(machineId)
      else seen.nextEnd = Math.min(seen.nextEnd, listedUntil.getTime())
    }
  return ended
}

function remember(seen: RememberedOffers, offerId: bigint, snapshot: OfferSnapshot): void {
  const offers = seen.machines.get(snapshot.machineId) ?? new Map<bigint, OfferSnapshot>()
  seen.machines.set(snapshot.machineId, offers)
  if (!offers.has(offerId)) seen.size += 1
  offers.set(offerId, snapshot)
  seen.nextEnd = Math.min(seen.nextEnd, snapshot.listedUntil.getTime())
}

function forget(seen: RememberedOffers, machineId: number, offerId: bigint): void {
  const offers = seen.machines.get(machineId)
  if (!offers?.delete(offerId)) return
  seen.size -= 1
  if (offers.size === 0) seen.machines.delete(machineId)
}
