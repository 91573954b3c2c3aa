// Whose work runs now, so that what is scarce can be given to owners in turn.

import { AsyncLocalStorage } from 'node:async_hooks'

/** Who asks: the id of an account, or the network of a client that has not shown a key. */
export type Owner = number | string

type Work = { owner: Owner | undefined; leave(): void }

const works = new AsyncLocalStorage<Work>()

/** `owner`: undefined for the gateway itself. `leave` gives back the place that the work has, if it has one. */
export function workFor<Result>(owner: Owner | undefined, work: () => Result, leave = () => {}): Result {
  return works.run({ owner, leave }, work)
}

export function currentOwner(): Owner | undefined {
  return works.getStore()?.owner
}

/** Called by work that will wait for a machine, which may take long: others need its place meanwhile. */
export function leavePlace(): void {
  works.getStore()?.leave()
}
