/** Ids are a prefix for the type around the integer that REST shows: in GraphQL, and in what webhooks are sent. */
export const idPrefixes = {
  Account: 'acc',
  ApiKey: 'key',
  Event: 'evt',
  GpuModel: 'gpu',
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
