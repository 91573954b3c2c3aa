// Who gets the next free connection. The pool's own queue would let one account with many slow statements hold up all others.

import { beginSpan } from '../traces/spans.ts'
import { currentOwner, type Owner } from '../turns/owners.ts'
import { createTurnQueue } from '../turns/queue.ts'

/** There are connections, but none for this owner in time. */
export class NoPlace extends Error {}

/** Called with a place, to be given back once, or with the reason if there is none for too long. */
type OnPlace = (place: { giveBack(): void } | { refusal: Error }) => void
type Waiter = { owner: Owner | undefined; sinceMs: number; timer: NodeJS.Timeout; onPlace: OnPlace }

/** Places for connections. While there is none, the owners of work take turns. */
export type Places = { ask(onPlace: OnPlace): void; waiting(): number }

export function createPlaces(count: number, patienceMs: number): Places {
  // Statements that begin together end together. An owner leaves some places to others, who then need not wait for that.
  // Where there are only two or three, turns are enough.
  const mostOfOwner = count < 4 ? count : Math.floor((count * 3) / 4)
  const queue = createTurnQueue<Owner | undefined, Waiter>()
  const takenBy = new Map<Owner, number>()
  let free = count

  const mayTake = (owner: Owner | undefined) =>
    free > 0 && (owner === undefined || (takenBy.get(owner) ?? 0) < mostOfOwner)

  function move(owner: Owner | undefined, places: 1 | -1): void {
    free -= places
    if (owner === undefined) return
    const taken = (takenBy.get(owner) ?? 0) + places
    if (taken > 0) takenBy.set(owner, taken)
    else takenBy.delete(owner)
  }

  function give(owner: Owner | undefined, onPlace: OnPlace): void {
    move(owner, 1)
    onPlace({
      giveBack() {
        move(owner, -1)
        const next = queue.next(mayTake)
        if (!next) return
        clearTimeout(next.timer)
        give(next.owner, next.onPlace)
      },
    })
  }

  function refuseLate(): void {
    const late = queue.removeOver(({ sinceMs }) => performance.now() - sinceMs >= patienceMs)
    for (const { timer, onPlace } of late) {
      clearTimeout(timer)
      onPlace({ refusal: new NoPlace('timeout exceeded when trying to connect') })
    }
  }

  return {
    ask(onPlace) {
      const owner = currentOwner()
      if (mayTake(owner)) return give(owner, onPlace)
      const timer = setTimeout(refuseLate, patienceMs + 1).unref()
      const endWait = beginSpan('wait for a connection')
      const endAndCall: OnPlace = place => {
        endWait?.('refusal' in place ? place.refusal : undefined)
        onPlace(place)
      }
      queue.add(owner, { owner, sinceMs: performance.now(), timer, onPlace: endAndCall })
    },
    waiting: () => queue.count(),
  }
}
