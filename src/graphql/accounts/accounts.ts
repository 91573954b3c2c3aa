import { maxApiKeys } from '../../domain/accounts/api-keys.ts'
import { maxSecretVariables } from '../../domain/accounts/secret-variables.ts'
import { maxSshKeys } from '../../domain/accounts/ssh-keys.ts'
import { runwayOf } from '../../domain/billing/runway.ts'
import { maxWebhooks } from '../../domain/webhooks/webhooks.ts'
import { loadSpendLimits, SpendLimit } from '../billing/limits.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { createRequiredLoader, createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { namedSelectionOf, selectionOf } from '../selection.ts'
import { Webhook } from '../webhooks/webhooks.ts'
import { ApiKey } from './api-keys.ts'
import { SecretVariable } from './secret-variables.ts'
import { SshKey } from './ssh-keys.ts'

export const Account = builder.prismaObject('Account', {
  select: { id: true },
  description: 'An account: the customer that rents and pays.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'ID of the account, such as `acc_42`.', resolve: ({ id }) => printId('Account', id) }),
    email: t.exposeString('email', { description: 'Email address of the account.' }),
    name: t.exposeString('name', { description: 'Name of the account. May be empty.' }),
    credit: t.field({
      type: 'Usd',
      description:
        'Credit left at the moment of the request, in US dollars. Negative if disks have gone on costing money after the credit ended. `usage` in the same answer is of a slightly different moment: while something runs, the two do not add up exactly.',
      resolve: async ({ id }, _args, context) => (await creditStatusByAccount(context).load(id)).creditNanos,
    }),
    costPerHour: t.field({
      type: 'Usd',
      description:
        'Current cost of everything in the account, in US dollars per hour: the GPUs of instances that run, the disks of all instances and all volumes. It is the sum of `costPerHour` of the instances and `pricePerHour` of the volumes. Instances that wait, load or are stopped cost only their disks.',
      resolve: async ({ id }, _args, context) => (await creditStatusByAccount(context).load(id)).costPerHourNanos,
    }),
    runwaySeconds: t.field({
      type: 'Float',
      nullable: true,
      description:
        'Time until the credit ends if the account goes on costing `costPerHour`, in whole seconds. Neither instances that will start nor policies and spend limits that will stop instances are considered. 0 if the credit has ended; null while nothing costs anything.',
      resolve: async ({ id }, _args, context) => {
        const status = await creditStatusByAccount(context).load(id)
        return runwayOf(status, status.at)
      },
    }),
    sshKeys: t.field({
      type: [SshKey],
      nullable: true,
      description: `SSH keys that log in to the account's instances, oldest first. An account has at most ${maxSshKeys}.`,
      requires: 'sshKeys.list',
      complexity: { multiplier: maxSshKeys },
      // Here and below, `_account` is always the caller's own, so the services take only the actor.
      resolve: (_account, _args, context, info) =>
        context.services.sshKeys.list(context.actor, selectionOf(context, info)),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
    apiKeys: t.field({
      type: [ApiKey],
      description: `Active API keys of the account, newest first, without expired and deleted ones. An account has at most ${maxApiKeys}.`,
      requires: 'apiKeys.list',
      nullable: true,
      complexity: { multiplier: maxApiKeys },
      resolve: (_account, _args, context, info) =>
        context.services.apiKeys.list(context.actor, selectionOf(context, info)),
    }),
    spendLimits: t.field({
      type: [SpendLimit],
      nullable: true,
      complexity: { multiplier: 6 },
      description:
        'Spend limits of the account as a whole. Per window there is at most one that you set, and one that the operator set.',
      requires: 'billing.spendLimits',
      resolve: (_account, _args, context, info) => loadSpendLimits(context, selectionOf(context, info), null),
    }),
    secretVariables: t.field({
      type: [SecretVariable],
      nullable: true,
      description: `Secret environment variables that each new rental gets, sorted by name. An account has at most ${maxSecretVariables}.`,
      requires: 'secretVariables.list',
      complexity: { multiplier: maxSecretVariables },
      resolve: (_account, _args, context, info) =>
        context.services.secretVariables.list(context.actor, namedSelectionOf(context, info)),
    }),
    webhooks: t.field({
      type: [Webhook],
      nullable: true,
      description: `Webhooks that receive the account's events, oldest first. An account has at most ${maxWebhooks}.`,
      requires: 'webhooks.list',
      complexity: { multiplier: maxWebhooks },
      resolve: (_account, _args, context, info) =>
        context.services.webhooks.list(context.actor, selectionOf(context, info)),
    }),
  }),
})

/** Credit of the caller's account, the only account that a caller can load. */
const creditStatusByAccount = createRequiredLoader(async ({ services, actor }, ids: readonly number[]) => {
  const status = await services.accounts.creditStatus(actor)
  return ids.map(id => ({ id, ...status }))
})

/** Finds only the caller's own account, so that a caller cannot learn which other accounts exist. */
export const accountById = createSelectedLoader(async ({ services, actor }, ids: readonly number[], select) =>
  ids.includes(actor.accountId) ? [await services.accounts.viewer(actor, select)] : [],
)
