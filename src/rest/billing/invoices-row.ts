// The rows of invoices, in both versions of the REST interface.

import { z } from 'zod'
import { usdToNumber } from '../../domain/money.ts'
import type { SelectedEntry } from '../../services/billing/ledger.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

const resourceIdColumns = {
  instance_id: z.int().nullable().describe('The id of the instance that the entry is for; null if there is none.'),
  volume_id: z.int().nullable().describe('The id of the volume that the entry is for; null if there is none.'),
}

export const statementLineSchema = z
  .object({
    id: integer('The id of the ledger entry.'),
    type: z.enum(['payment', 'charge']).describe('charge for usage; payment for credit, refunds and adjustments.'),
    description: text('The reason for the entry, in words.'),
    quantity: z.number().nullable().describe('The charged hours; null for a payment.'),
    rate: z.number().nullable().describe('The price per hour, in US dollars; null for a payment.'),
    amount: number(
      'The amount, in US dollars: the cost of a charge, or the credit that a payment adds. A payment below 0 takes credit back.',
    ),
    timestamp: number('When the entry was posted, in seconds since 1970.'),
    when: number('The same as timestamp.'),
    paid_on: number('The same as timestamp, since no entry is paid later.'),
    balance_before: number('The sum of all earlier entries, in US dollars.'),
    balance_after: number('The sum of all entries up to and including this one, in US dollars.'),
    ...resourceIdColumns,
  })
  .meta({ id: 'StatementLine', description: 'A payment or a charge.' })
export type StatementLine = z.output<typeof statementLineSchema>

export const statementColumnsSchema = statementLineSchema.partial().catchall(z.null()).meta({
  id: 'StatementColumns',
  description: 'The selected columns of a line. A column that does not exist is null.',
})
export type StatementColumns = z.output<typeof statementColumnsSchema>

export const invoiceSchema = z
  .object({
    start: number('When the entry was posted, in seconds since 1970.'),
    end: number('The same as start, since no entry is paid later.'),
    type: z
      .enum(['credit', 'refund', 'adjustment'])
      .describe(
        'credit: granted credit. refund: a charge that was given back. adjustment: a correction by the operator.',
      ),
    source: text('The source of the entry: "operator", or the refunded resource, like "instance-5".'),
    description: text('The reason for the entry, in words.'),
    amount: number(
      'The amount, in US dollars. Clients of this version expect a number below 0 for credit that the account receives.',
    ),
    metadata: z
      .object({
        invoice_id: integer('The id of the ledger entry.'),
        balance_after: number('The sum of all entries up to and including this one, in US dollars.'),
        ...resourceIdColumns,
      })
      .describe('The ledger entry behind the invoice.'),
    items: z.array(alwaysNull('Never present.')).describe('Always empty.'),
  })
  .meta({ id: 'Invoice', description: 'A change of the credit that is not a charge.' })

/** What rows show of an entry. */
export const entrySelect = {
  id: true,
  kind: true,
  amountNanos: true,
  balanceAfterNanos: true,
  periodStart: true,
  periodEnd: true,
  rateNanos: true,
  note: true,
  postedAt: true,
  meter: { select: { instanceId: true, volumeId: true } },
} as const
type ShownEntry = SelectedEntry<typeof entrySelect>

export function statementLineRow(entry: ShownEntry): StatementLine {
  const { id, amountNanos, balanceAfterNanos, rateNanos } = entry
  const posted = entry.postedAt.getTime() / 1000
  const isCharge = entry.kind === 'gpu' || entry.kind === 'disk'
  return {
    id: Number(id),
    type: isCharge ? 'charge' : 'payment',
    description: descriptionOf(entry),
    quantity: isCharge ? hoursOf(entry) : null,
    rate: rateNanos === null ? null : usdToNumber(rateNanos),
    amount: usdToNumber(isCharge ? -amountNanos : amountNanos),
    ...{ timestamp: posted, when: posted, paid_on: posted },
    balance_before: usdToNumber(balanceAfterNanos - amountNanos),
    balance_after: usdToNumber(balanceAfterNanos),
    ...resourceIdsOf(entry),
  }
}

export function invoiceRow(entry: ShownEntry): z.input<typeof invoiceSchema> {
  const { id, kind, postedAt } = entry
  const resource = resourceIdsOf(entry)
  const posted = postedAt.getTime() / 1000
  return {
    ...{ start: posted, end: posted },
    type: kind === 'refund' || kind === 'adjustment' ? kind : 'credit',
    source:
      (resource.instance_id ?? resource.volume_id) === null ? 'operator' : resourceNameOf(entry).replace(' ', '-'),
    description: descriptionOf(entry),
    amount: usdToNumber(-entry.amountNanos),
    metadata: { invoice_id: Number(id), balance_after: usdToNumber(entry.balanceAfterNanos), ...resource },
    items: [],
  }
}

function resourceIdsOf({ meter }: ShownEntry) {
  const { instanceId = null, volumeId = null } = meter ?? {}
  return {
    instance_id: instanceId === null ? null : Number(instanceId),
    volume_id: volumeId === null ? null : Number(volumeId),
  }
}

function resourceNameOf(entry: ShownEntry): string {
  const { instance_id: instanceId, volume_id: volumeId } = resourceIdsOf(entry)
  return instanceId === null ? `volume ${volumeId}` : `instance ${instanceId}`
}

function descriptionOf(entry: ShownEntry): string {
  const { kind, note } = entry
  if (kind === 'gpu') return `GPUs of ${resourceNameOf(entry)}`
  if (kind === 'disk') return `Disk of ${resourceNameOf(entry)}`
  const name = { top_up: 'Credit', refund: `Refund for ${resourceNameOf(entry)}`, adjustment: 'Adjustment' }[kind]
  return note ? `${name}: ${note}` : name
}

function hoursOf({ periodStart: startsAt, periodEnd: endsAt }: ShownEntry): number {
  return ((endsAt?.getTime() ?? 0) - (startsAt?.getTime() ?? 0)) / 3_600_000
}
