import { maxApiKeys } from '../../domain/accounts/api-keys.ts'
import { maxSecretVariables } from '../../domain/accounts/secret-variables.ts'
import { maxSshKeys } from '../../domain/accounts/ssh-keys.ts'
import { runwayOf } from '../../domain/billing/runway.ts'
import { maxWebhooks } from '../../domain/webhooks/webhooks.ts'
import { loadSpendLimits, SpendLimit } from '../billing/limits.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'
import { Webhook } from '../webhooks/webhooks.ts'
import { ApiKey } from './api-keys.ts'
import { SecretVariable } from './secret-variables.ts'
import { SshKey } from './ssh-keys.ts'

export const Account = builder.prismaObject('Account', {
  description: 'Who rents and pays.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `acc_`.', resolve: ({ id }) => printId('Account', id) }),
    email: t.exposeString('email', { description: 'The address that the account is known by.' }),
    name: t.exposeString('name', { description: 'What its owner calls it. May be empty.' }),
    credit: t.field({
      type: 'Usd',
      description:
        'What is left to spend, at the instant that it is asked. Below zero is what disks have cost since it ended.',
      resolve: async ({ id }, _args, context) => (await creditStatusByAccount(context).load(id))?.creditNanos ?? 0n,
    }),
    burnRate: t.field({
      type: 'Usd',
      description: 'What everything together costs per hour now.',
      resolve: async ({ id }, _args, context) =>
        (await creditStatusByAccount(context).load(id))?.costPerHourNanos ?? 0n,
    }),
    runwaySeconds: t.field({
      type: 'Float',
      nullable: true,
      description:
        'For how many whole seconds the credit lasts from now on, if everything goes on as it does: 0 when it has ended. Null while nothing costs anything.',
      resolve: async ({ id }, _args, context) => {
        const status = await creditStatusByAccount(context).load(id)
        return status ? runwayOf(status, status.at) : null
      },
    }),
    sshKeys: t.field({
      type: [SshKey],
      description: `The keys that it logs in to its instances with, the oldest first, at most ${maxSshKeys}. ${permissionSentence('sshKeys.list')}`,
      complexity: { multiplier: maxSshKeys },
      // Nobody is given another account than his own.
      resolve: (_account, _args, { services, actor }) => services.sshKeys.list(actor),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was opened.' }),
    apiKeys: t.field({
      type: [ApiKey],
      description: `Its keys that work, the newest first, at most ${maxApiKeys}. ${permissionSentence('apiKeys.list')}`,
      complexity: { multiplier: maxApiKeys },
      resolve: (_account, _args, { services, actor }) => services.apiKeys.list(actor),
    }),
    spendLimits: t.field({
      type: [SpendLimit],
      complexity: { multiplier: 3 },
      description: `The limits of what it spends as a whole, at most one of each window. ${permissionSentence('billing.spendLimits')}`,
      // Nobody is given another account than his own.
      resolve: (_account, _args, context) => loadSpendLimits(context, null),
    }),
    secretVariables: t.field({
      type: [SecretVariable],
      description: `Environment variables that its new rentals get, by name, at most ${maxSecretVariables}. ${permissionSentence('secretVariables.list')}`,
      complexity: { multiplier: maxSecretVariables },
      resolve: (_account, _args, { services, actor }) => services.secretVariables.list(actor),
    }),
    webhooks: t.field({
      type: [Webhook],
      description: `Where its events are sent, the oldest first, at most ${maxWebhooks}. ${permissionSentence('webhooks.list')}`,
      complexity: { multiplier: maxWebhooks },
      resolve: (_account, _args, { services, actor }) => services.webhooks.list(actor),
    }),
  }),
})

/** Nobody is given another account than his own. */
const creditStatusByAccount = createLoader(async ({ services, actor }, ids: readonly number[]) => {
  const status = await services.accounts.creditStatus(actor)
  return ids.map(id => ({ id, ...status }))
})

/** Other accounts are not found, whether they exist or not. */
export const accountById = createLoader(async ({ services, actor }, ids: readonly number[]) =>
  ids.includes(actor.accountId) ? [await services.accounts.viewer(actor, {})] : [],
)

builder.queryField('viewer', t =>
  t.prismaField({
    type: 'Account',
    description: `The account that the key belongs to. ${permissionSentence('accounts.viewer')}`,
    resolve: (query, _root, _args, { services, actor }) => services.accounts.viewer(actor, query),
  }),
)
