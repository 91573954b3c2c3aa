import { type Check, fail, ok, warn } from '../check.ts'

export type OpenFilesFacts = {
  /** How many files and connections a process of this user may have open; null if it cannot be told. */
  limit: number | null
  /** The connections that a gateway with these settings accepts, and those that it opens for them. */
  needs: { clients: number; database: number }
}

/** Of the program itself, such as its modules and logs. */
const ownFiles = 200

export function checkOpenFiles({ limit, needs: { clients, database } }: OpenFilesFacts): Check {
  const name = 'open files'
  if (limit === null) return ok(name, 'This system does not tell its limit.')
  const least = ownFiles + database
  const all = least + clients
  const advice = `Raise the limit to ${all} or more, such as with LimitNOFILE= in the systemd unit or "ulimit -n" before the start.`
  if (limit < least) return fail(name, `The limit is ${limit}, and the gateway alone needs ${least}.`, advice)
  if (limit < all)
    return warn(name, `The limit is ${limit}, and a gateway with all of its connections has ${all}.`, advice)
  return ok(name, `The limit is ${limit}, and a gateway needs ${all} at most.`)
}
