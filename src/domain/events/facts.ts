// Prints the facts of events in the names, ids and units of the GraphQL face.

import { type IdType, printId } from '../ids.ts'
import { printUsd } from '../money.ts'
import type { EventKind } from './events.ts'

const idTypes: Record<string, IdType> = {
  apiKeyId: 'ApiKey',
  instanceIds: 'Instance',
  machineId: 'Machine',
  offerId: 'Offer',
  replacedBy: 'Instance',
  replaces: 'Instance',
  spendLimitId: 'SpendLimit',
  sshKeyId: 'SshKey',
  templateId: 'Template',
  volumeId: 'Volume',
  volumeIds: 'Volume',
  webhookId: 'Webhook',
}
const amountNames: Record<string, string> = {
  costPerHourNanos: 'costPerHour',
  gpuPriceNanos: 'gpuPricePerHour',
  creditNanos: 'credit',
  diskNanos: 'pricePerHour',
  minimumBidNanos: 'minimumBidPerHour',
}
const enumNames = ['mode', 'status', 'targetState', 'window', 'action']

/** Facts for operators only. */
const hiddenNames = ['idempotencyKey']

/** Prints `before` or `after`: money as decimal strings, sizes in GB, ids and enums as in GraphQL. */
export function printFacts(kind: EventKind, facts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts)
      .filter(([name]) => !hiddenNames.includes(name))
      .map(([name, value]) => {
        const [shown, print] = presentationOf(kind, name)
        return [shown, value === null ? null : print(value)]
      }),
  )
}

function presentationOf(kind: EventKind, name: string): [string, (value: unknown) => unknown] {
  const idType = idTypes[name]
  if (idType) {
    const printOne = (value: unknown) => printId(idType, String(value))
    return [name, value => (Array.isArray(value) ? value.map(printOne) : printOne(value))]
  }
  if (name.endsWith('Nanos')) {
    const isBid = kind === 'INSTANCE_BID_CHANGED' && name === 'gpuPriceNanos'
    return [
      isBid ? 'bidPerHour' : (amountNames[name] ?? name.slice(0, -'Nanos'.length)),
      value => printUsd(BigInt(String(value))),
    ]
  }
  if (name.endsWith('Mb')) return [`${name.slice(0, -2)}Gb`, value => Number(value) / 1000]
  if (enumNames.includes(name)) return [name, value => String(value).replace(/[A-Z]/g, '_$&').toUpperCase()]
  if (name === 'templateHash') return ['templateHashId', value => value]
  return [name, value => value]
}
