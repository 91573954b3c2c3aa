import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { templateByHashServices } from './by-hash.ts'
import { templateSearchServices } from './search.ts'
import { templateReadServices } from './templates.ts'
import { templateUpdateServices } from './update.ts'

export function createTemplateServices(deps: Deps) {
  return {
    templates: compose(
      templateReadServices(deps),
      templateSearchServices(deps),
      templateUpdateServices(deps),
      templateByHashServices(deps),
    ),
  }
}
