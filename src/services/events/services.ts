import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { eventHistoryServices } from './history.ts'
import { eventWatchServices } from './watch.ts'

export function createEventServices(deps: Deps) {
  return { events: compose(eventHistoryServices(deps), eventWatchServices(deps)) }
}
