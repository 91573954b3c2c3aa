import { z } from 'zod'
import { usdNumber } from '../domain/money.ts'
import { type Route, route } from './route.ts'
import { boolean, integer, number, text } from './values.ts'

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
      const { creditNanos } = await services.accounts.standing(actor)
      const newest = await services.sshKeys.newest(actor)
      return {
        id,
        email,
        username: email.slice(0, email.indexOf('@')),
        fullname: name,
        credit: usdNumber(creditNanos),
        // Clients add both: what is prepaid is credit, and nothing is owed.
        balance: 0,
        ssh_key: newest?.publicKey ?? '',
        can_pay: true,
      }
    },
  }),
]
