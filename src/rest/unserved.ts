const fixedPrice = 'The price of a rental stays as it was rented: there are no increases to accept or to reject.'
const operators =
  'Operators put machines on the market, with `npm run berth -- machine import`: hosts do not over REST.'
const maintenances =
  'Machines have no announced maintenance: operators drain them, with `npm run berth -- machine drain`.'

/** Paths of the API that clients know which have no route here, by what to do instead. */
const unservedPaths: Record<string, string> = {
  'instances/pending-price-increases': fixedPrice,
  'instances/accept-price-increase': fixedPrice,
  'instances/reject-price-increase': fixedPrice,
  'machines/create_asks': operators,
  'machines/create_bids': operators,
  'machines/defrag_offers': 'Offers are made anew by themselves whenever GPUs become free.',
  'machines/maintenances': maintenances,
  'machines/maintenances/batch': maintenances,
}

/** What to do instead of asking for a path that is known elsewhere, and is not served here. */
export function findAlternative(pathname: string): string | undefined {
  const path = pathname
    .replaceAll(/\/+/g, '/')
    .replace(/^\/api\/v\d\//, '')
    .replace(/\/$/, '')
  return Object.hasOwn(unservedPaths, path) ? unservedPaths[path] : undefined
}
