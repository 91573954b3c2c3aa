// An event as a program reads it that was sent it: in the names, ids and units of the GraphQL face. Programs of others
// depend on this, so names are added here and never changed.

import type { Event, EventType } from './events.ts'
import { type IdType, printId } from './ids.ts'
import { printUsd } from './money.ts'

/** What is absent in an event is absent here. */
export type EventPayload = {
  id: string
  type: EventType
  createdAt: string
  accountId: string
  instanceId?: string
  /** The key that did it. Without one, Berth itself did. */
  apiKeyId?: string
  reason?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

export function payloadOf({
  id,
  type,
  at,
  accountId,
  instanceId,
  apiKeyId,
  reason,
  before,
  after,
}: Event): EventPayload {
  return {
    id: printId('Event', id),
    type,
    createdAt: at.toISOString(),
    accountId: printId('Account', accountId),
    ...(instanceId !== null && { instanceId: printId('Instance', instanceId) }),
    ...(apiKeyId !== null && { apiKeyId: printId('ApiKey', apiKeyId) }),
    ...(reason !== null && { reason }),
    ...(before && { before: printFacts(type, before) }),
    ...(after && { after: printFacts(type, after) }),
  }
}

const idTypes: Record<string, IdType> = {
  apiKeyId: 'ApiKey',
  machineId: 'Machine',
  offerId: 'Offer',
  sshKeyId: 'SshKey',
  templateId: 'Template',
  volumeId: 'Volume',
  webhookId: 'Webhook',
}
const amounts: Record<string, string> = {
  computeNanos: 'computePricePerHour',
  creditNanos: 'credit',
  diskNanos: 'pricePerHour',
  minimumBidNanos: 'minimumBidPerHour',
}
const enums = ['mode', 'status', 'targetState']

/** What an event says of before or after: money as decimals in texts, sizes in GB, ids and enums as in GraphQL. */
function printFacts(type: EventType, facts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => {
      const [shown, print] = spellingOf(type, name)
      return [shown, value === null ? null : print(value)]
    }),
  )
}

function spellingOf(type: EventType, name: string): [string, (value: unknown) => unknown] {
  const idType = idTypes[name]
  if (idType) return [name, value => printId(idType, String(value))]
  if (name.endsWith('Nanos')) {
    const isBid = type === 'INSTANCE_BID_CHANGED' && name === 'computeNanos'
    return [
      isBid ? 'bidPerHour' : (amounts[name] ?? name.slice(0, -'Nanos'.length)),
      value => printUsd(BigInt(String(value))),
    ]
  }
  if (name.endsWith('Mb')) return [`${name.slice(0, -2)}Gb`, value => Number(value) / 1000]
  if (enums.includes(name)) return [name, value => String(value).replace(/[A-Z]/g, '_$&').toUpperCase()]
  return [name, value => value]
}
