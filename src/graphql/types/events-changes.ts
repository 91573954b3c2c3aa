import type { Event, EventType } from '../../domain/events.ts'
import { printUsd } from '../../domain/money.ts'
import { builder } from '../builder.ts'
import { asNodeType, printId } from '../ids.ts'

type Change = { field: string; before: string | null; after: string | null }

export const EventChange = builder.objectRef<Change>('EventChange').implement({
  description: 'What an event changed of the thing that it is about.',
  fields: t => ({
    field: t.exposeString('field', {
      description:
        'What it is called in this schema where there is such a field: `label`, `targetState`, `bidPerHour`.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description: 'What it was, as it is written in this schema. Null for nothing, and for what is new.',
    }),
    after: t.exposeString('after', {
      nullable: true,
      description: 'What it became, written in the same way. Null for nothing, and for what is gone.',
    }),
  }),
})

/** What is no change, and is said elsewhere or to nobody. */
const untold = ['message', 'idempotencyKey']

export function changesOf({ type, before, after }: Event): Change[] {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  return fields
    .filter(field => !untold.includes(field))
    .map(field => {
      const [was, is] = [before?.[field], after?.[field]].map(value => printed(field, value))
      return { field: nameOf(field, type), before: was ?? null, after: is ?? null }
    })
    .filter(change => change.before !== change.after)
}

const names: Record<string, string> = {
  computeNanos: 'computePricePerHour',
  creditNanos: 'credit',
  diskNanos: 'pricePerHour',
  minimumBidNanos: 'minimumBidPerHour',
}

function nameOf(field: string, type: EventType): string {
  if (type === 'INSTANCE_BID_CHANGED' && field === 'computeNanos') return 'bidPerHour'
  return names[field] ?? field.replace(/Mb$/, 'Gb')
}

/** Values that this schema has an enum for. */
const enums = ['mode', 'status', 'targetState']

function printed(field: string, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  if (field.endsWith('Nanos')) return printUsd(BigInt(value as string))
  if (field.endsWith('Mb')) return String(Number(value) / 1000)
  if (enums.includes(field)) return String(value).replace(/[A-Z]/g, '_$&').toUpperCase()
  const node = field.endsWith('Id') ? asNodeType(field.slice(0, -2)) : undefined
  if (node) return printId(node, BigInt(value as string))
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
