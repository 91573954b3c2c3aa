// What the document says of a search. It is read in offers-input.ts, which takes more than is said here.

import { z } from 'zod'
import { fieldKindOf, type OfferField } from '../../domain/offers/fields.ts'
import { maxOperands } from '../../domain/offers/filter.ts'
import { defaultDiskMb, maxDiskGb } from '../../domain/offers/offers.ts'
import { maxOrderKeys } from '../../domain/offers/order.ts'
import { restFields } from './fields.ts'
import { defaultRows, maxRows } from './input.ts'
import { offerRowSchema } from './row.ts'

const listSchema = <Value extends z.ZodType>(value: Value) => z.array(value).max(maxOperands)

/** A filter in its three forms: operators, a value alone, or a list of values alone. */
function createFilterSchema(id: string, value: z.ZodType, ordered: boolean) {
  const bound = (about: string) => value.optional().describe(about)
  const equality = {
    eq: bound('Equal to this.'),
    neq: bound('Not equal to this.'),
    in: listSchema(value).optional().describe('Equal to one of these.'),
    notin: listSchema(value).optional().describe('Equal to none of these.'),
  }
  const order = {
    gt: bound('More than this.'),
    gte: bound('At least this.'),
    lt: bound('Less than this.'),
    lte: bound('At most this.'),
  }
  return z
    .union([z.object(ordered ? { ...equality, ...order } : equality), value, listSchema(value)])
    .meta({ id, description: 'Conditions that must all hold; a value alone must be equal, a list alone contain it.' })
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
  rentable: 'Whether it can be rented now; true by default.',
  gpu_name: 'The model of the GPUs; underscores stand for spaces.',
  geolocation: 'The two letters of the country, alone or after a city.',
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

/** A filter takes what its column shows: 0 and 1 for some booleans, and texts for versions, which compare as numbers. */
function filterSchemaOf(field: OfferField, column: z.ZodType | undefined): z.ZodType {
  const kind = fieldKindOf(field)
  if (kind === 'text') return filterSchemas.text
  if (kind === 'boolean') return column instanceof z.ZodNumber ? filterSchemas.number : filterSchemas.boolean
  return column instanceof z.ZodString ? filterSchemas.version : filterSchemas.number
}

export const searchSchema = z
  .looseObject({
    ...Object.fromEntries(Object.entries(restFields).map(describeFilter)),
    type: z
      .enum(['ondemand', 'bid', 'reserved'])
      .optional()
      .describe('The price to show: at a fixed price (ondemand, the default, and reserved) or interruptible (bid).'),
    limit: z
      .int()
      .min(1)
      .optional()
      .describe(`How many offers to return at most: ${defaultRows} by default, and never more than ${maxRows}.`),
    order: z
      .array(z.union([z.string(), z.array(z.string()).min(1).max(2)]).describe('[field, "asc" or "desc"]'))
      .max(maxOrderKeys)
      .optional()
      .describe('What to sort by; the default is score, the best first.'),
    allocated_storage: z
      .number()
      .min(0)
      .max(maxDiskGb)
      .optional()
      .describe(`The disk to price, in GB; the default is ${defaultDiskMb / 1000}.`),
    disable_bundling: z.boolean().optional().describe('Whether to return every offer of a bundle, not only one.'),
  })
  .meta({
    id: 'OfferSearch',
    description: 'Filters, which must all hold, beside how many offers to return and in which order.',
  })

export const columnsSchema = z
  .array(z.string())
  .optional()
  .describe('The columns to return; ["*"] is all, as is nothing.')
