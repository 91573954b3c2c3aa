import { capOperations } from '../billing/limits/caps.ts'
import { compose } from '../compose.ts'
import type { DataDeps } from '../deps.ts'
import { accountOperations } from './accounts.ts'
import { apiKeyOperations } from './api-keys/operations.ts'
import { accountCreateOperations } from './create.ts'
import { creditOperations } from './credit.ts'
import { accountDisableOperations } from './disable.ts'
import { accountLedgerOperations } from './ledger.ts'
import { accountListOperations } from './list.ts'
import { quotaOperations } from './quotas.ts'

export function createAccountOperations(deps: DataDeps) {
  return {
    accounts: compose(
      accountOperations(deps),
      accountCreateOperations(deps),
      accountListOperations(deps),
      creditOperations(deps),
      accountDisableOperations(deps),
      quotaOperations(deps),
      accountLedgerOperations(deps),
    ),
    apiKeys: apiKeyOperations(deps),
    caps: capOperations(deps),
  }
}
