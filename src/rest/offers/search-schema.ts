// The documented schema of a search. input.ts parses searches, and accepts more than the schema.

import { z } from 'zod'
import { fieldTypeOf, type OfferField } from '../../domain/offers/fields.ts'
import { maxOperands } from '../../domain/offers/filter.ts'
import { defaultDiskMb, maxDiskGb } from '../../domain/offers/offers.ts'
import { maxOrderKeys } from '../../domain/offers/order.ts'
import { restFields } from './fields.ts'
import { defaultRows, maxRows } from './input.ts'
import { offerRowSchema } from './row.ts'

const listSchema = <Value extends z.ZodType>(value: Value) => z.array(value).max(maxOperands)

/** A filter in its three forms: operators, one value, or a list of values. */
function createFilterSchema(id: string, value: z.ZodType, ordered: boolean) {
  const bound = (about: string) => value.optional().describe(about)
  const equality = {
    eq: bound('Equal to this value.'),
    neq: bound('Not equal to this value.'),
    in: listSchema(value).optional().describe('Equal to one of these values.'),
    notin: listSchema(value).optional().describe('Equal to none of these values.'),
  }
  const order = {
    gt: bound('Greater than this value.'),
    gte: bound('Greater than or equal to this value.'),
    lt: bound('Less than this value.'),
    lte: bound('Less than or equal to this value.'),
  }
  return z
    .union([z.object(ordered ? { ...equality, ...order } : equality), value, listSchema(value)])
    .meta({ id, description: 'Conditions that must all hold. One value means eq, and a list means in.' })
}

const filterSchemas = {
  number: createFilterSchema('NumberFilter', z.number(), true),
  version: createFilterSchema('VersionFilter', z.union([z.number(), z.string()]), true),
  text: createFilterSchema('TextFilter', z.string(), false),
  boolean: createFilterSchema('BooleanFilter', z.boolean(), false),
}

const rowColumns: Record<string, z.ZodType | undefined> = offerRowSchema.shape
const filterDescriptions: Record<string, string> = {
  verified: 'Whether the machine is verified.',
  datacenter: 'Whether the machine is in a datacenter.',
  rentable: 'Whether the offer can be rented now; true by default.',
  gpu_name: 'Model of the GPUs. Underscores count as spaces.',
  geolocation: 'Two-letter country code, alone or after a city.',
}

function describeFilter([name, field]: [string, OfferField]) {
  const namesake = Object.keys(restFields).find(other => restFields[other] === field && rowColumns[other])
  const words = filterDescriptions[name] ?? rowColumns[name]?.description
  const like = words ? rowColumns[name] : rowColumns[namesake ?? '']
  return [
    name,
    filterSchemaOf(field, like)
      .optional()
      .describe(words ?? `The same as ${namesake}.`),
  ]
}

/** A filter takes the values of its column: 0 and 1 for some booleans, strings for versions (compared as numbers). */
function filterSchemaOf(field: OfferField, column: z.ZodType | undefined): z.ZodType {
  const type = fieldTypeOf(field)
  if (type === 'text') return filterSchemas.text
  if (type === 'boolean') return column instanceof z.ZodNumber ? filterSchemas.number : filterSchemas.boolean
  return column instanceof z.ZodString ? filterSchemas.version : filterSchemas.number
}

export const searchSchema = z
  .looseObject({
    ...Object.fromEntries(Object.entries(restFields).map(describeFilter)),
    type: z
      .enum(['ondemand', 'bid', 'reserved'])
      .optional()
      .describe(
        'Type of rental that prices are for: ondemand (default) and reserved have a fixed price, bid is interruptible.',
      ),
    limit: z
      .int()
      .min(1)
      .optional()
      .describe(`Maximum number of offers; ${defaultRows} by default, and never more than ${maxRows}.`),
    order: z
      .array(z.union([z.string(), z.array(z.string()).min(1).max(2)]).describe('[field, "asc" or "desc"]'))
      .max(maxOrderKeys)
      .optional()
      .describe('Order of the offers. Defaults to score, best first.'),
    allocated_storage: z
      .number()
      .min(0)
      .max(maxDiskGb)
      .optional()
      .describe(`Size of the disk to include in prices, in GB; ${defaultDiskMb / 1000} by default.`),
    disable_bundling: z.boolean().optional().describe('Whether to return every offer of a bundle instead of one.'),
  })
  .meta({
    id: 'OfferSearch',
    description: 'A search for offers: filters that must all hold, an order and a limit.',
  })

export const columnsSchema = z
  .array(z.string())
  .optional()
  .describe('Columns to return. Absent or ["*"] means all columns.')
