import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { templateChangeServices } from './change.ts'
import { templateSearchServices } from './search.ts'
import { templateServices } from './templates.ts'
import { templateCommands } from './update.ts'

export function createTemplateServices(deps: Deps) {
  return {
    templates: compose(
      templateServices(deps),
      templateSearchServices(deps),
      templateCommands(deps),
      templateChangeServices(deps),
    ),
  }
}
