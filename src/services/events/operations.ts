import { compose } from '../compose.ts'
import type { DataDeps } from '../deps.ts'
import { failoverOperations } from './failovers.ts'
import { eventListOperations } from './list.ts'

export function createEventOperations(deps: DataDeps) {
  return compose(failoverOperations(deps), eventListOperations(deps))
}
