import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { chargeServices } from './charges.ts'
import { costServices } from './costs.ts'
import { ledgerServices } from './ledger.ts'
import { limitServices } from './limits/limits.ts'
import { statementServices } from './statement.ts'
import { usageServices } from './usage.ts'

export function createBillingServices(deps: Deps) {
  return {
    billing: compose(
      costServices(deps),
      ledgerServices(deps),
      statementServices(deps),
      usageServices(deps),
      chargeServices(deps),
      limitServices(deps),
    ),
  }
}
