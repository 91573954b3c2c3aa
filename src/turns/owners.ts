// Whose work runs now, so that what is scarce can be given to owners in turn.

import { AsyncLocalStorage } from 'node:async_hooks'

/** Who asks: the id of an account, or the network of a client that has not shown a key. */
export type Owner = number | string

/** What a request has while it is answered. */
export type Place = {
  /** Gives the place back for good. Further calls do nothing. */
  leave(): void
  /** Gives the place back while the request waits for a machine; false if too many requests do. Only the first call counts. */
  rest(): boolean
}
/** The place of what has none. */
export const noPlace: Place = { leave() {}, rest: () => true }

type Work = { owner: Owner | undefined; place: Place }

const works = new AsyncLocalStorage<Work>()

/** `owner`: undefined for the gateway itself. `place` is that of the work, if it has one. */
export function workFor<Result>(owner: Owner | undefined, work: () => Result, place = noPlace): Result {
  return works.run({ owner, place }, work)
}

export function currentOwner(): Owner | undefined {
  return works.getStore()?.owner
}

/** Called by work that will wait for a machine, which may take long: others need its place meanwhile. False if it may not wait. */
export function restPlace(): boolean {
  return works.getStore()?.place.rest() ?? true
}
