import { z } from 'zod'
import { usdToNumber } from '../../domain/money.ts'
import { type Route, route } from '../route.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

const account = z
  .object({
    id: integer('ID of the account.'),
    email: text('Email address, unique among accounts.'),
    username: text('Part of the email address before the @.'),
    fullname: text('Full name of the account, or "".'),
    credit: number('Credit left to spend, in US dollars.'),
    balance: number('Debt in US dollars; always 0, since accounts are prepaid.'),
    ssh_key: text('Newest registered SSH key, or "".'),
    can_pay: boolean('Whether the account may rent; always true.'),
    has_billing: boolean('Whether the account can pay; always true, since it pays from its credit.'),
    email_verified: boolean('Whether the email address is verified; always false, since Berth sends no mail.'),
    balance_threshold: number(
      'Credit at which the account is topped up automatically, in US dollars; always 0, since this never happens.',
    ),
    balance_threshold_enabled: boolean('Whether the account is topped up automatically; always false.'),
    api_key: alwaysNull('Always null: a key is shown once, when it is created.'),
    sid: text('Console session; always "", since Berth has no console.'),
  })
  .meta({ id: 'Account', description: 'The account of the API key.' })

export const currentUserRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/users/current/',
    operationId: 'getCurrentUser',
    tag: 'Account',
    summary: 'Get the current user',
    about: 'Returns the account that the key belongs to. Success confirms that the key works.',
    operation: 'accounts.viewer',
    result: account,
    answer: async ({ services, actor }) => {
      const { id, email, name } = await services.accounts.viewer(actor, { id: true, email: true, name: true })
      const { creditNanos } = await services.accounts.creditStatus(actor)
      const newest = await services.sshKeys.newest(actor, { id: true, publicKey: true })
      return {
        id,
        email,
        username: email.slice(0, email.indexOf('@')),
        fullname: name,
        credit: usdToNumber(creditNanos),
        // Clients add up credit and balance. Accounts are prepaid, so nothing is owed.
        balance: 0,
        ssh_key: newest?.publicKey ?? '',
        can_pay: true,
        has_billing: true,
        email_verified: false,
        balance_threshold: 0,
        balance_threshold_enabled: false,
        // Old clients delete this field before they print the account, and fail if it is absent.
        api_key: null,
        sid: '',
      }
    },
  }),
]
