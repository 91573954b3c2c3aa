/** In GraphQL and in webhook payloads, an id is a prefix for the type and the integer that REST shows. */
export const idPrefixes = {
  Account: 'acc',
  ApiKey: 'key',
  Event: 'evt',
  GpuModel: 'gpu',
  /** The account that hosts machines: the integer is that of the account. */
  Host: 'hst',
  Instance: 'ins',
  LedgerEntry: 'led',
  Machine: 'mch',
  Offer: 'off',
  SpendLimit: 'lim',
  SshKey: 'ssh',
  Template: 'tpl',
  Volume: 'vol',
  VolumeOffer: 'vof',
  Webhook: 'whk',
  WebhookDelivery: 'whd',
} as const
export type IdType = keyof typeof idPrefixes

export function printId(type: IdType, id: number | bigint | string): string {
  return `${idPrefixes[type]}_${id}`
}

/** PostgreSQL's greatest bigint. */
export const maxId = 2n ** 63n - 1n
