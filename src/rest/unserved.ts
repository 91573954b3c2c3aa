const fixedPrice = 'The host cannot raise the price of a rental, so there are no increases to accept or reject.'
const operators =
  'Hosts cannot list machines over REST. The operator lists them with `npm run berth -- machine import`.'
const maintenances =
  'Berth does not schedule maintenance. The operator drains machines with `npm run berth -- machine drain`.'

/** Paths that clients know from elsewhere and that have no route here, each with advice on what to do instead. */
export const unservedPaths: Record<string, string> = {
  'instances/pending-price-increases': fixedPrice,
  'instances/accept-price-increase': fixedPrice,
  'instances/reject-price-increase': fixedPrice,
  'machines/create_asks': operators,
  'machines/create_bids': operators,
  'machines/defrag_offers': 'Berth recreates offers automatically when GPUs become free.',
  'machines/maintenances': maintenances,
  'machines/maintenances/batch': maintenances,
}

/** The advice for a path that clients know from elsewhere. Undefined for any other path. */
export function findAlternative(pathname: string): string | undefined {
  const path = pathname
    .replaceAll(/\/+/g, '/')
    .replace(/^\/api\/v\d\//, '')
    .replace(/\/$/, '')
  return Object.hasOwn(unservedPaths, path) ? unservedPaths[path] : undefined
}
