import { compose } from '../compose.ts'
import type { DataDeps } from '../deps.ts'
import { instanceCommandOperations } from './operator/commands.ts'
import { instanceListOperations } from './operator/list.ts'

export function createInstanceOperations(deps: DataDeps) {
  return { instances: compose(instanceListOperations(deps), instanceCommandOperations(deps)) }
}
