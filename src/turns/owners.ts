// Whose work runs now, so that what is scarce can be given to owners in turn.

import { AsyncLocalStorage } from 'node:async_hooks'

/** Who asks: the id of an account, or the address of a client that has not shown a key. */
export type Owner = number | string

const owners = new AsyncLocalStorage<Owner | undefined>()

/** `owner`: undefined for the gateway itself. */
export function workFor<Result>(owner: Owner | undefined, work: () => Result): Result {
  return owners.run(owner, work)
}

export function currentOwner(): Owner | undefined {
  return owners.getStore()
}
