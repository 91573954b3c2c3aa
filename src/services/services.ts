import type { Rules } from '../domain/billing-work.ts'
import { accountOperations, accountServices } from './accounts.ts'
import { accountCreateOperations } from './accounts-create.ts'
import { creditOperations } from './accounts-credit.ts'
import { accountLedgerOperations } from './accounts-ledger.ts'
import { accountListOperations } from './accounts-list.ts'
import { quotaOperations } from './accounts-quotas.ts'
import { apiKeyServices } from './api-keys.ts'
import { identityServices } from './api-keys-identity.ts'
import { apiKeyOperations } from './api-keys-operations.ts'
import { chargeServices } from './billing-charges.ts'
import { costServices } from './billing-costs.ts'
import { ledgerServices } from './billing-ledger.ts'
import { limitServices } from './billing-limits.ts'
import { statementServices } from './billing-statement.ts'
import { usageServices } from './billing-usage.ts'
import { billingServices } from './billing-work.ts'
import type { DataDeps, Deps } from './deps.ts'
import { historyServices } from './events-history.ts'
import { outboxServices } from './events-outbox.ts'
import { retentionServices } from './events-retention.ts'
import { watchServices } from './events-watch.ts'
import { gpuModelServices } from './gpu-models.ts'
import { housekeepingServices } from './housekeeping.ts'
import { instanceServices } from './instances.ts'
import { bestServices } from './instances-best.ts'
import { bidServices } from './instances-bid.ts'
import { commandServices } from './instances-command.ts'
import { executeServices } from './instances-execute.ts'
import { logServices } from './instances-logs.ts'
import { policyServices } from './instances-policy.ts'
import { policySetServices } from './instances-policy-set.ts'
import { quoteServices } from './instances-quote.ts'
import { relaunchServices } from './instances-relaunch.ts'
import { rentServices } from './instances-rent.ts'
import { rentManyServices } from './instances-rent-many.ts'
import { restartServices } from './instances-restart.ts'
import { instanceSearchServices } from './instances-search.ts'
import { instanceWatchServices } from './instances-watch.ts'
import { machineOperations, machineServices } from './machines.ts'
import { machineHostServices } from './machines-host.ts'
import { importOperations } from './machines-import.ts'
import { machineListOperations } from './machines-list.ts'
import { marketOperations } from './machines-market.ts'
import { outageOperations } from './machines-outages.ts'
import { measureServices } from './measures.ts'
import { offerServices } from './offers.ts'
import { offerWatchServices } from './offers-watch.ts'
import { reconciliationServices } from './reconciliation.ts'
import { resultServices } from './results.ts'
import { secretVariableServices } from './secret-variables.ts'
import { sshKeyServices } from './ssh-keys.ts'
import { admitServices } from './ssh-keys-admit.ts'
import { attachServices } from './ssh-keys-attach.ts'
import { registerServices } from './ssh-keys-register.ts'
import { replaceServices } from './ssh-keys-replace.ts'
import { templateServices } from './templates.ts'
import { templateChangeServices } from './templates-change.ts'
import { templateSearchServices } from './templates-search.ts'
import { templateCommands } from './templates-update.ts'
import { volumeServices } from './volumes.ts'
import { volumeOfferServices } from './volumes-offers.ts'
import { volumeChangeServices } from './volumes-update.ts'
import { webhookServices } from './webhooks.ts'
import { deliveryServices } from './webhooks-delivery.ts'
import { webhookCommands } from './webhooks-update.ts'

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
export function createPolicies(deps: DataDeps) {
  return policyServices(deps)
}

/** What happens to accounts by itself, for their money. No face has it. */
export function createBilling(deps: DataDeps, rules: Rules) {
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
