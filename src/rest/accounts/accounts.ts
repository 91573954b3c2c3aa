import { z } from 'zod'
import { usdToNumber } from '../../domain/money.ts'
import { type Route, route } from '../route.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

const account = z
  .object({
    id: integer('The account.'),
    email: text('Its address, which is unique.'),
    username: text('The part of the address before the @.'),
    fullname: text('The name that was given, or "".'),
    credit: number('What is left to spend, in $.'),
    balance: number('What is owed, in $: always 0, since everything is paid ahead.'),
    ssh_key: text('The newest registered SSH key, or "".'),
    can_pay: boolean('Whether the account may rent; always true.'),
    has_billing: boolean('Whether it needs no other way to pay than its credit; always true.'),
    email_verified: boolean('Whether mail was received there; always false, since none is sent.'),
    balance_threshold: number('At which credit it is topped up, in $: always 0, since it is not.'),
    balance_threshold_enabled: boolean('Whether it is topped up by itself; always false.'),
    api_key: alwaysNull('Always null: a key is shown when it is made, and never again.'),
    sid: text('A session in a console; always "", since there is none.'),
  })
  .meta({ id: 'Account', description: 'An account.' })

export const accountRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/users/current/',
    operationId: 'getCurrentUser',
    tag: 'Account',
    summary: 'Get the current user',
    about: 'The account that the key belongs to. A success confirms that the key works.',
    operation: 'accounts.viewer',
    result: account,
    answer: async ({ services, actor }) => {
      const { id, email, name } = await services.accounts.viewer(actor, {})
      const { creditNanos } = await services.accounts.creditStatus(actor)
      const newest = await services.sshKeys.newest(actor)
      return {
        id,
        email,
        username: email.slice(0, email.indexOf('@')),
        fullname: name,
        credit: usdToNumber(creditNanos),
        // Clients add both: what is prepaid is credit, and nothing is owed.
        balance: 0,
        ssh_key: newest?.publicKey ?? '',
        can_pay: true,
        has_billing: true,
        email_verified: false,
        balance_threshold: 0,
        balance_threshold_enabled: false,
        // Old clients take it out of what they print, and fail where it is not there.
        api_key: null,
        sid: '',
      }
    },
  }),
]
