// The rows of invoices, in both versions of this interface.

import { z } from 'zod'
import type { LedgerEntry } from '../../domain/billing/ledger.ts'
import { usdToNumber } from '../../domain/money.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

const resourceIdColumns = {
  instance_id: z.int().nullable().describe('The instance that it is for, if it is for one.'),
  volume_id: z.int().nullable().describe('The volume that it is for, if it is for one.'),
}

export const statementLineSchema = z
  .object({
    id: integer('The entry of the ledger.'),
    type: z.enum(['payment', 'charge']).describe('Whether it was granted, given back or put right, or was used.'),
    description: text('What it is for.'),
    quantity: z.number().nullable().describe('The hours that are charged; null unless it is a charge.'),
    rate: z.number().nullable().describe('What it cost per hour, in $; null unless it is a charge.'),
    amount: number(
      'In $: what a charge takes, or what a payment adds, which is below 0 where something was taken back.',
    ),
    timestamp: number('When it was posted, in seconds since 1970.'),
    when: number('The same.'),
    paid_on: number('The same: nothing is to be paid later.'),
    balance_before: number('The sum of everything that was posted before, in $.'),
    balance_after: number('That with this.'),
    ...resourceIdColumns,
  })
  .meta({ id: 'StatementLine', description: 'A payment or a charge.' })
export type StatementLine = z.output<typeof statementLineSchema>

/** Of a list that selects columns: those, with null for one that does not exist. */
export const statementColumnsSchema = statementLineSchema
  .partial()
  .catchall(z.null())
  .meta({ id: 'StatementColumns', description: 'The selected columns of a line. One that does not exist is null.' })
export type StatementColumns = z.output<typeof statementColumnsSchema>

export const invoiceSchema = z
  .object({
    start: number('When it was posted, in seconds since 1970.'),
    end: number('When it was paid: the same.'),
    type: z
      .enum(['credit', 'refund', 'adjustment'])
      .describe('Credit that was granted, a charge that was given back, or something that the operator put right.'),
    source: text('What it comes from: "operator", or what had been charged for, like "instance-5".'),
    description: text('What it is for.'),
    amount: number('In $. Below 0 is what the account was given, as clients of this version read it.'),
    metadata: z
      .object({
        invoice_id: integer('The entry of the ledger.'),
        balance_after: number('The sum of everything that was posted, with this, in $.'),
        ...resourceIdColumns,
      })
      .describe('What more is known.'),
    items: z.array(alwaysNull('Nothing.')).describe('Always empty.'),
  })
  .meta({ id: 'Invoice', description: 'Something that changed the credit, apart from charges.' })

export function statementLineRow(entry: LedgerEntry): StatementLine {
  const { id, amountNanos, balanceAfterNanos, rateNanos } = entry
  const posted = entry.postedAt.getTime() / 1000
  const isCharge = entry.kind === 'compute' || entry.kind === 'disk'
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

export function invoiceRow(entry: LedgerEntry): z.input<typeof invoiceSchema> {
  const { id, kind, instanceId, volumeId, postedAt } = entry
  const posted = postedAt.getTime() / 1000
  return {
    ...{ start: posted, end: posted },
    type: kind === 'refund' || kind === 'adjustment' ? kind : 'credit',
    source: instanceId === null && volumeId === null ? 'operator' : resourceNameOf(entry).replace(' ', '-'),
    description: descriptionOf(entry),
    amount: usdToNumber(-entry.amountNanos),
    metadata: { invoice_id: Number(id), balance_after: usdToNumber(entry.balanceAfterNanos), ...resourceIdsOf(entry) },
    items: [],
  }
}

function resourceIdsOf({ instanceId, volumeId }: LedgerEntry) {
  return {
    instance_id: instanceId === null ? null : Number(instanceId),
    volume_id: volumeId === null ? null : Number(volumeId),
  }
}

function resourceNameOf({ instanceId, volumeId }: LedgerEntry): string {
  return instanceId === null ? `volume ${volumeId}` : `instance ${instanceId}`
}

function descriptionOf(entry: LedgerEntry): string {
  const { kind, reason } = entry
  if (kind === 'compute') return `GPUs of ${resourceNameOf(entry)}`
  if (kind === 'disk') return `Disk of ${resourceNameOf(entry)}`
  const name = { top_up: 'Credit', refund: `Refund for ${resourceNameOf(entry)}`, adjustment: 'Adjustment' }[kind]
  return reason ? `${name}: ${reason}` : name
}

function hoursOf({ periodStart, periodEnd }: LedgerEntry): number {
  return ((periodEnd?.getTime() ?? 0) - (periodStart?.getTime() ?? 0)) / 3_600_000
}
