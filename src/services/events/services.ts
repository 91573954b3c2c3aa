import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { historyServices } from './history.ts'
import { watchServices } from './watch.ts'

export function createEventServices(deps: Deps) {
  return { events: compose(historyServices(deps), watchServices(deps)) }
}
