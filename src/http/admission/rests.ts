// Requests that have given their places back while they wait for machines. Each still holds a connection of its client.

import type { Owner, Place } from '../../turns/owners.ts'
import { createCounts } from '../limits/counts.ts'

export type RestLimits = typeof restLimits
/** With as many streams as a gateway has, some connections of its 2,000 stay for others. */
export const restLimits = { total: 300, ofOwner: 64 }

/** Returns a function that makes the place of a request. `giveBack` is called once, when the place is free. */
export function createRests({ total, ofOwner }: RestLimits) {
  const [all, own] = [createCounts<undefined>(total), createCounts<Owner>(ofOwner)]

  function add(owner: Owner): boolean {
    if (!own.add(owner)) return false
    if (all.add(undefined)) return true
    own.remove(owner)
    return false
  }

  return (owner: Owner, giveBack: () => void): Place => {
    let state: 'runs' | 'rests' | 'isOver' = 'runs'
    return {
      leave() {
        const before = state
        state = 'isOver'
        if (before === 'runs') giveBack()
        if (before !== 'rests') return
        all.remove(undefined)
        own.remove(owner)
      },
      rest() {
        if (state !== 'runs') return true
        if (!add(owner)) return false
        state = 'rests'
        giveBack()
        return true
      },
    }
  }
}
