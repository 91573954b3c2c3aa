import { usdNumber } from '../domain/money.ts'
import type { Route } from './route.ts'

export const accountRoutes: Route[] = [
  {
    method: 'GET',
    path: '/api/v0/users/current/',
    about: 'The account that the key belongs to. A success confirms that the key works.',
    answer: async ({ services, actor }) => {
      const { id, email, name, postedNanos } = await services.accounts.viewer(actor, {})
      return {
        id,
        email,
        username: email.slice(0, email.indexOf('@')),
        fullname: name,
        credit: usdNumber(postedNanos),
        // Clients add both: what is prepaid is credit, and nothing is owed.
        balance: 0,
        ssh_key: '',
        can_pay: true,
      }
    },
  },
]
