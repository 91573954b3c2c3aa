import type { Rules } from '../domain/billing/work.ts'
import { accountOperations, accountServices } from './accounts/accounts.ts'
import { apiKeyServices } from './accounts/api-keys/api-keys.ts'
import { identityServices } from './accounts/api-keys/identity.ts'
import { apiKeyOperations } from './accounts/api-keys/operations.ts'
import { accountCreateOperations } from './accounts/create.ts'
import { creditOperations } from './accounts/credit.ts'
import { accountLedgerOperations } from './accounts/ledger.ts'
import { accountListOperations } from './accounts/list.ts'
import { quotaOperations } from './accounts/quotas.ts'
import { secretVariableServices } from './accounts/secret-variables.ts'
import { admitServices } from './accounts/ssh-keys/admit.ts'
import { attachServices } from './accounts/ssh-keys/attach.ts'
import { registerServices } from './accounts/ssh-keys/register.ts'
import { replaceServices } from './accounts/ssh-keys/replace.ts'
import { sshKeyServices } from './accounts/ssh-keys/ssh-keys.ts'
import { chargeServices } from './billing/charges.ts'
import { costServices } from './billing/costs.ts'
import { billingServices } from './billing/due/due.ts'
import { ledgerServices } from './billing/ledger.ts'
import { limitServices } from './billing/limits/limits.ts'
import { statementServices } from './billing/statement.ts'
import { usageServices } from './billing/usage.ts'
import type { DataDeps, Deps } from './deps.ts'
import { historyServices } from './events/history.ts'
import { outboxServices } from './events/outbox.ts'
import { retentionServices } from './events/retention.ts'
import { watchServices } from './events/watch.ts'
import { housekeepingServices } from './housekeeping.ts'
import { bidServices } from './instances/bid.ts'
import { commandServices } from './instances/command.ts'
import { executeServices } from './instances/execute.ts'
import { logServices } from './instances/logs.ts'
import { policyServices } from './instances/policy/policy.ts'
import { policySetServices } from './instances/policy/set.ts'
import { instanceServices } from './instances/read.ts'
import { relaunchServices } from './instances/relaunch.ts'
import { bestServices } from './instances/rent/best.ts'
import { rentManyServices } from './instances/rent/many.ts'
import { quoteServices } from './instances/rent/quote.ts'
import { rentServices } from './instances/rent/rent.ts'
import { restartServices } from './instances/restart.ts'
import { resultServices } from './instances/results.ts'
import { instanceSearchServices } from './instances/search/search.ts'
import { instanceWatchServices } from './instances/watch.ts'
import type { FollowDeps } from './instances/write.ts'
import { marketOperations } from './machines/generate.ts'
import { gpuModelServices } from './machines/gpu-models.ts'
import { machineHostServices } from './machines/host.ts'
import { importOperations } from './machines/import.ts'
import { machineListOperations } from './machines/list.ts'
import { machineOperations, machineServices } from './machines/machines.ts'
import { outageOperations } from './machines/outages.ts'
import { measureServices } from './measures.ts'
import { offerServices } from './offers/offers.ts'
import { offerWatchServices } from './offers/watch.ts'
import { reconciliationServices } from './reconciliation/reconciliation.ts'
import { templateChangeServices } from './templates/change.ts'
import { templateSearchServices } from './templates/search.ts'
import { templateServices } from './templates/templates.ts'
import { templateCommands } from './templates/update.ts'
import { volumeOfferServices } from './volumes/offers.ts'
import { volumeChangeServices } from './volumes/update.ts'
import { volumeServices } from './volumes/volumes.ts'
import { deliveryServices } from './webhooks/delivery.ts'
import { webhookCommands } from './webhooks/update.ts'
import { webhookServices } from './webhooks/webhooks.ts'

/** Everything that the faces can ask for. */
export type Services = ReturnType<typeof createServices>
export function createServices(deps: Deps) {
  return {
    accounts: accountServices(deps),
    apiKeys: { ...identityServices(deps), ...apiKeyServices(deps) },
    billing: {
      ...costServices(deps),
      ...ledgerServices(deps),
      ...statementServices(deps),
      ...usageServices(deps),
      ...chargeServices(deps),
      ...limitServices(deps),
    },
    events: { ...historyServices(deps), ...watchServices(deps) },
    gpuModels: gpuModelServices(deps),
    instances: {
      ...instanceServices(deps),
      ...instanceSearchServices(deps),
      ...rentServices(deps),
      ...rentManyServices(deps),
      ...quoteServices(deps),
      ...bestServices(deps),
      ...commandServices(deps),
      ...bidServices(deps),
      ...restartServices(deps),
      ...relaunchServices(deps),
      ...policySetServices(deps),
      ...instanceWatchServices(deps),
      ...logServices(deps),
      ...executeServices(deps),
    },
    machines: { ...machineServices(deps), ...machineHostServices(deps) },
    offers: { ...offerServices(deps), ...offerWatchServices(deps) },
    secretVariables: secretVariableServices(deps),
    sshKeys: {
      ...sshKeyServices(deps),
      ...registerServices(deps),
      ...attachServices(deps),
      ...admitServices(deps),
      ...replaceServices(deps),
    },
    templates: {
      ...templateServices(deps),
      ...templateSearchServices(deps),
      ...templateCommands(deps),
      ...templateChangeServices(deps),
    },
    results: resultServices(deps),
    volumes: { ...volumeServices(deps), ...volumeChangeServices(deps), ...volumeOfferServices(deps) },
    webhooks: { ...webhookServices(deps), ...webhookCommands(deps) },
  }
}

/** What operators do from the command line, and the demo market at first start. No face has it. */
export type Operations = ReturnType<typeof createOperations>
export function createOperations(deps: DataDeps) {
  return {
    accounts: {
      ...accountOperations(deps),
      ...accountCreateOperations(deps),
      ...accountListOperations(deps),
      ...creditOperations(deps),
      ...quotaOperations(deps),
      ...accountLedgerOperations(deps),
    },
    apiKeys: apiKeyOperations(deps),
    machines: {
      ...machineOperations(deps),
      ...importOperations(deps),
      ...machineListOperations(deps),
      ...marketOperations(deps),
      ...outageOperations(deps),
    },
  }
}

/** What feeds the streams. No face has it. */
export function createOutbox(deps: DataDeps, batch?: number) {
  return outboxServices(deps, batch)
}

/** What keeps the events from becoming too many. No face has it. */
export function createRetention(deps: DataDeps, retentionDays: number) {
  return retentionServices(deps, retentionDays)
}

/** What sends events to webhooks. No face has it. */
export function createDeliveries(deps: Deps) {
  return deliveryServices(deps)
}

/** What the reconciler does. No face has it. */
export function createReconciliation(deps: Deps) {
  return reconciliationServices(deps)
}

/** What happens to instances by itself. No face has it. */
export function createPolicies(deps: FollowDeps) {
  return policyServices(deps)
}

/** What happens to accounts by itself, for their money. No face has it. */
export function createBilling(deps: FollowDeps, rules: Rules) {
  return billingServices(deps, rules)
}

/** What is deleted since nobody needs it any more. No face has it. */
export function createChores(deps: DataDeps, eventRetentionDays: number) {
  return { ...housekeepingServices(deps), purgeEvents: createRetention(deps, eventRetentionDays).purge }
}

/** How the work is going, for operators. No face has it. */
export function createMeasures(deps: DataDeps) {
  return measureServices(deps)
}
