import { isImplemented } from '../not-implemented.ts'
import { type Route, tags } from '../route.ts'

export type Noun = { tag: string; about: string; routes: Route[] }

/** In the order in which a renter meets them. */
const order = ['Offers', 'Instances', 'Templates', 'Volumes', 'Keys', 'Billing', 'Account', 'Machines', 'Interface']

/** The routes by noun. Those that Berth does not offer come last in each. */
export function groupByNoun(routes: Route[]): Noun[] {
  const nouns = Object.entries(tags).map(([tag, about]) => {
    const own = routes.filter(route => route.tag === tag)
    return { tag, about, routes: [...own.filter(isImplemented), ...own.filter(route => !isImplemented(route))] }
  })
  return nouns.toSorted((one, other) => order.indexOf(one.tag) - order.indexOf(other.tag))
}
